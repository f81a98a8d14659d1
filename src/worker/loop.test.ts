import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLoop } from './loop.ts';
import { backoffMs, pause, systemTimers } from './timers.ts';

const log = pino({ level: 'silent' });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const loopOf = (step: () => Promise<number>, random = () => 1) => createLoop({ name: 'test', step, timers: systemTimers, random, log });

test('steps follow each other by the wait that each answers', async () => {
  const step = vi.fn(async () => 1_000);
  const loop = loopOf(step);
  loop.start();
  loop.start();
  await vi.advanceTimersByTimeAsync(2_999);
  expect(step).toHaveBeenCalledTimes(3);
  await loop.stop();
});

test('a wake ends the wait, and one during a step makes the next follow at once', async () => {
  let endStep = () => {};
  const step = vi.fn(() => new Promise<number>((resolve) => (endStep = () => resolve(60_000))));
  const loop = loopOf(step);
  loop.start();
  loop.wake();
  endStep();
  await vi.advanceTimersByTimeAsync(0);
  expect(step).toHaveBeenCalledTimes(2);
  endStep();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(step).toHaveBeenCalledTimes(2);
  loop.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(step).toHaveBeenCalledTimes(3);
  const stopped = loop.stop();
  endStep();
  await stopped;
});

test('a step that fails is tried again, ever later up to five seconds, and at the usual pace once it works', async () => {
  const times: number[] = [];
  const began = systemTimers.now();
  const step = vi.fn(async () => {
    times.push(Math.round(systemTimers.now() - began));
    if (times.length <= 6) throw new Error('not now');
    return 1_000;
  });
  const loop = loopOf(step);
  loop.start();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(times).toEqual([0, 250, 750, 1_750, 3_750, 7_750, 12_750, 13_750, 14_750]);
  await loop.stop();
});

test('loops that fail together are tried again apart', async () => {
  const step = vi.fn(async () => {
    throw new Error('not now');
  });
  const loop = loopOf(step, () => 0);
  loop.start();
  await vi.advanceTimersByTimeAsync(124);
  expect(step).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(step).toHaveBeenCalledTimes(2);
  await loop.stop();
});

test('stop waits for the step under way, and no other begins', async () => {
  let endStep = () => {};
  const step = vi.fn(() => new Promise<number>((resolve) => (endStep = () => resolve(0))));
  const loop = loopOf(step);
  loop.start();
  const stopped = vi.fn();
  const stopping = loop.stop().then(stopped);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(stopped).not.toHaveBeenCalled();
  endStep();
  await stopping;
  loop.start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(step).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a stop during a wait ends it and leaves no timer behind', async () => {
  const loop = loopOf(async () => 60_000);
  loop.start();
  await vi.advanceTimersByTimeAsync(1);
  expect(vi.getTimerCount()).toBe(1);
  await loop.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('a pause ends with its time or with its signal, and leaves no timer behind', async () => {
  const ended = vi.fn();
  const abort = new AbortController();
  const pauses = [pause(systemTimers, 100, abort.signal).then(ended), pause(systemTimers, 9_000, abort.signal).then(ended)];
  await vi.advanceTimersByTimeAsync(100);
  expect(ended).toHaveBeenCalledTimes(1);
  abort.abort();
  await Promise.all(pauses);
  await pause(systemTimers, 9_000, abort.signal);
  expect(vi.getTimerCount()).toBe(0);
});

test('the backoff doubles from 250 ms to 5 s', () => {
  expect([1, 2, 3, 4, 5, 6, 50].map(backoffMs)).toEqual([250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]);
});
