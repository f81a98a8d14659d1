import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { Claim, Heartbeat, RunStore } from '#store/store.ts';
import { keepLease, type LeaseKeeper } from './lease-keeper.ts';
import { systemTimers } from './timers.ts';

const LEASE_MS = 30_000;
const alive: Heartbeat = { cancelRequested: false, leasesOnAuthority: 1 };
const claim = { snapshot: { id: 'crawl' as CrawlId }, token: 'token' as LeaseToken, leasesOnAuthority: 3 } as Claim;

let keeper: LeaseKeeper;
let heartbeat: ReturnType<typeof vi.fn<RunStore['heartbeat']>>;
const onLost = vi.fn<(reason: LeaseLost) => void>();
const onCancelRequested = vi.fn();

/** A store's heartbeats are scripted here: how late and how wrong they come is the subject. */
function keep(answer: RunStore['heartbeat'], leasedAt = systemTimers.now()): void {
  heartbeat = vi.fn(answer);
  const log = pino({ level: 'silent' });
  keeper = keepLease({
    store: { heartbeat },
    claim,
    leasedAt,
    leaseMs: LEASE_MS,
    timers: systemTimers,
    log,
    onLost,
    onCancelRequested,
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.clearAllMocks();
});
afterEach(() => {
  keeper.end();
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test('the lease is renewed each third of its length', async () => {
  keep(async () => alive);
  await vi.advanceTimersByTimeAsync(90_000);
  expect(heartbeat).toHaveBeenCalledTimes(9);
  expect(heartbeat).toHaveBeenCalledWith('crawl', 'token', LEASE_MS);
  expect(onLost).not.toHaveBeenCalled();
});

test('a lease that the store says is lost is told of once, and not renewed any more', async () => {
  keep(async () => 'lost');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heartbeat).toHaveBeenCalledTimes(1);
  expect(onLost).toHaveBeenCalledTimes(1);
  expect(onLost.mock.calls[0]?.[0]).toBeInstanceOf(LeaseLost);
});

test('while the store is unavailable it is asked more often, and the lease is kept when it comes back in time', async () => {
  const backAt = systemTimers.now() + 25_000;
  keep(async () => {
    if (systemTimers.now() < backAt) throw unavailable('The store does not answer.');
    return alive;
  });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(onLost).not.toHaveBeenCalled();
  expect(heartbeat.mock.calls.length).toBeGreaterThan(12);
});

test('a store that stays unavailable loses the lease when it must have expired, not before', async () => {
  keep(async () => {
    throw unavailable('The store does not answer.');
  });
  await vi.advanceTimersByTimeAsync(29_999);
  expect(onLost).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onLost).toHaveBeenCalledTimes(1);
});

test('a heartbeat that hangs does not hide the end of the lease', async () => {
  keep(() => new Promise(() => {}));
  await vi.advanceTimersByTimeAsync(30_000);
  expect(onLost).toHaveBeenCalledTimes(1);
});

test('a slow heartbeat extends the lease from when it was sent', async () => {
  const answers: ((answer: Heartbeat) => void)[] = [];
  keep(() => new Promise((resolve) => answers.push(resolve)));
  await vi.advanceTimersByTimeAsync(29_000); // sent at 10 s
  answers[0]?.(alive);
  await vi.advanceTimersByTimeAsync(10_999);
  expect(onLost).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1); // 10 s + 30 s
  expect(onLost).toHaveBeenCalledTimes(1);
});

test('the time that the claim itself took counts against the lease', async () => {
  keep(() => new Promise(() => {}), systemTimers.now() - 12_000);
  await vi.advanceTimersByTimeAsync(0);
  expect(heartbeat).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(18_000);
  expect(onLost).toHaveBeenCalledTimes(1);
});

test('a cancel is told of, and the leases on the authority are those of the last heartbeat', async () => {
  keep(async () => ({ cancelRequested: true, leasesOnAuthority: 7 }));
  expect(keeper.leasesOnAuthority()).toBe(3);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(onCancelRequested).toHaveBeenCalledTimes(1);
  expect(keeper.leasesOnAuthority()).toBe(7);
});

test('after its end nothing is asked or told any more, also by an answer that was under way', async () => {
  let answer: (lost: 'lost') => void = () => {};
  keep(() => new Promise((resolve) => (answer = resolve)));
  await vi.advanceTimersByTimeAsync(10_000);
  keeper.end();
  answer('lost');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heartbeat).toHaveBeenCalledTimes(1);
  expect(onLost).not.toHaveBeenCalled();
});
