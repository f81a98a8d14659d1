import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Snapshot } from '#domain/snapshot.ts';
import { createCoalescedPublisher } from './coalesce.ts';
import { snapshotOf } from './contract/bus-contract.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function open() {
  const published: Snapshot[] = [];
  const bus = { publish: async (snapshot: Snapshot) => void published.push(snapshot) };
  const after = (ms: number, callback: () => void) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  };
  const versions = () => published.splice(0).map(({ version }) => version);
  return { ...createCoalescedPublisher({ bus, after }), versions };
}

const crawl = snapshotOf();
const at = (version: number): Snapshot => ({ ...crawl, version });
const final = (version: number): Snapshot => ({ ...at(version), state: 'done', phase: 'finished', endReason: 'completed' });

describe('the coalescing publisher', () => {
  test('publishes the first snapshot at once', () => {
    const { publish, versions } = open();
    publish(at(1));
    expect(versions()).toEqual([1]);
  });

  test('publishes the latest of an interval at its end, once', () => {
    const { publish, versions } = open();
    for (const version of [1, 2, 3, 4]) publish(at(version));
    vi.advanceTimersByTime(199);
    expect(versions()).toEqual([1]);
    vi.advanceTimersByTime(1);
    expect(versions()).toEqual([4]);
    vi.advanceTimersByTime(1_000);
    expect(versions()).toEqual([]);
  });

  test('never publishes oftener than once an interval while snapshots keep coming', () => {
    const { publish, versions } = open();
    for (let version = 1; version <= 100; version++) {
      publish(at(version));
      vi.advanceTimersByTime(10);
    }
    // a second of snapshots: the first, and one at the end of each 200 ms
    expect(versions()).toEqual([1, 20, 40, 60, 80, 100]);
  });

  test('publishes at once again after a quiet interval', () => {
    const { publish, versions } = open();
    publish(at(1));
    vi.advanceTimersByTime(200);
    publish(at(2));
    expect(versions()).toEqual([1, 2]);
  });

  test('publishes a final one at once, in place of what waited, and nothing after it', () => {
    const { publish, versions } = open();
    publish(at(1));
    publish(at(2));
    publish(final(3));
    expect(versions()).toEqual([1, 3]);
    vi.advanceTimersByTime(1_000);
    expect(versions()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('keeps the crawls apart', () => {
    const { publish, versions } = open();
    publish(at(1));
    publish(snapshotOf({ version: 50 }));
    publish(at(2));
    expect(versions()).toEqual([1, 50]);
    vi.advanceTimersByTime(200);
    expect(versions()).toEqual([2]);
  });

  test('flushes what waits, in one go, and leaves no timer behind', () => {
    const { publish, flush, versions } = open();
    publish(at(1));
    publish(at(2));
    publish(snapshotOf({ version: 50 }));
    flush();
    expect(versions()).toEqual([1, 50, 2]);
    expect(vi.getTimerCount()).toBe(0);
    flush();
    expect(versions()).toEqual([]);
  });
});
