import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MAX_BATCH_BYTES, type PageBatch } from '#domain/batch.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { DiscoveredPage, PageResult } from '#domain/page.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { createBatcher } from './batcher.ts';

const found = (seq: number): DiscoveredPage => ({
  seq,
  url: `https://example.com/${seq}`,
  depth: 1,
  status: 'queued',
  reason: null,
  foundOn: 0,
  redirects: 0,
});
const fetched = (seq: number, some: Partial<PageResult> = {}): PageResult => ({
  seq,
  status: 'fetched',
  httpStatus: 200,
  contentType: 'text/html',
  reason: null,
  redirectUrl: null,
  fetchedAt: 0,
  durationMs: 1,
  bytes: 1,
  truncated: false,
  facts: null,
  links: [],
  otherLinks: [],
  linksTruncated: false,
  ...some,
});

/** A batcher whose commits end when `finish` is called, or at once. */
function open({ byHand = false, lastBatch = 0 } = {}) {
  const batches: PageBatch[] = [];
  const errors: unknown[] = [];
  const pending: ((answer: Snapshot | 'lost') => void)[] = [];
  const snapshot = {} as Snapshot;
  const batcher = createBatcher({
    lastBatch,
    commit(batch) {
      batches.push(batch);
      return byHand ? new Promise((resolve) => pending.push(resolve)) : Promise.resolve(snapshot);
    },
    onCommitted: () => {},
    onError: (error) => errors.push(error),
  });
  return { batcher, batches, errors, finish: (answer: Snapshot | 'lost' = snapshot) => pending.shift()?.(answer) };
}

describe('the batcher', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('commits 200 ms after the first page of a batch', async () => {
    const { batcher, batches } = open({ lastBatch: 7 });
    batcher.discovered(found(1));
    await vi.advanceTimersByTimeAsync(150);
    batcher.result(fetched(1), '2026-11');
    expect(batches.length).toBe(0);
    await vi.advanceTimersByTimeAsync(50);
    expect(batches).toEqual([
      { number: 8, discovered: [found(1)], results: [fetched(1)], charges: { '2026-11': 1 }, frontierTruncated: false },
    ]);
  });

  it('stores a page that discovers more than a batch holds as several, its result in the last', async () => {
    const { batcher, batches } = open();
    for (let seq = 1; seq <= 250; seq++) batcher.discovered(found(seq));
    batcher.result(fetched(0), '2026-11');
    await batcher.flush();
    expect(batches.map(({ number, discovered, results }) => [number, discovered.length, results.length])).toEqual([
      [1, 100, 0],
      [2, 100, 0],
      [3, 50, 1],
    ]);
    expect(batches.map(({ charges }) => charges)).toEqual([{}, {}, { '2026-11': 1 }]);
  });

  it.each([
    ['letters', 'x'],
    ['what JSON escapes', '\\'],
  ])('keeps batches within their size, the URLs full of %s', async (_, character) => {
    const { batcher, batches } = open();
    const otherLinks = Array.from({ length: 200 }, (_, index) => `https://other.example/?${index}${character.repeat(1_900)}`);
    for (let seq = 0; seq < 10; seq++) batcher.result(fetched(seq, { otherLinks }), '2026-11');
    await batcher.flush();
    expect(batches.flatMap(({ results }) => results.map(({ seq }) => seq))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for (const batch of batches) expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThan(MAX_BATCH_BYTES);
  });

  it('has one commit under way at a time', async () => {
    const { batcher, batches, finish } = open({ byHand: true });
    for (let seq = 0; seq < 150; seq++) batcher.discovered(found(seq));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(batches.length).toBe(1);
    finish();
    await vi.advanceTimersByTimeAsync(200);
    expect(batches.map(({ number, discovered }) => [number, discovered.length])).toEqual([
      [1, 100],
      [2, 50],
    ]);
  });

  it('charges each page to the month in which it was asked for', async () => {
    const { batcher, batches } = open();
    batcher.result(fetched(0), '2026-11');
    batcher.result(fetched(1), '2026-12');
    batcher.result(fetched(2, { status: 'redirected' }), null);
    await batcher.flush();
    expect(batches[0]?.charges).toEqual({ '2026-11': 1, '2026-12': 1 });
  });

  it('makes its callers wait while too many pages do', async () => {
    const { batcher, finish } = open({ byHand: true });
    for (let seq = 0; seq < 2_150; seq++) batcher.discovered(found(seq));
    let hasRoom = false;
    void batcher.room().then(() => {
      hasRoom = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(hasRoom).toBe(false);
    finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(hasRoom).toBe(true);
  });

  // 2,000 pages of 400 KB of links could wait for a store that is away, of each crawl: the thread may have a gigabyte
  it('makes its callers wait while pages of too many bytes do', async () => {
    const { batcher, finish } = open({ byHand: true });
    const otherLinks = Array.from({ length: 4_000 }, (_, n) => `https://example.org/${String(n).padEnd(80, 'x')}`);
    let waiting = 0;
    let hasRoom = true;
    while (hasRoom && waiting < 1_000) {
      batcher.result(fetched(waiting++, { otherLinks }), null);
      await vi.advanceTimersByTimeAsync(0);
      hasRoom = await Promise.race([batcher.room().then(() => true), Promise.resolve().then(() => Promise.resolve(false))]);
    }
    expect(waiting).toBeLessThan(100);
    const room = batcher.room();
    await vi.advanceTimersByTimeAsync(200); // the batch under way begins
    for (let commits = 0; commits < 100; commits++) {
      finish();
      await vi.advanceTimersByTimeAsync(200);
    }
    await room;
  });

  it('stops at the answer that the lease is lost', async () => {
    const { batcher, batches, errors, finish } = open({ byHand: true });
    for (let seq = 0; seq < 150; seq++) batcher.discovered(found(seq));
    const flushed = expect(batcher.flush()).rejects.toBeInstanceOf(LeaseLost);
    finish('lost');
    await flushed;
    await vi.advanceTimersByTimeAsync(1_000);
    expect([batches.length, errors.length]).toEqual([1, 1]);
    await expect(batcher.flush()).rejects.toBeInstanceOf(LeaseLost);
  });

  it('says that URLs were dropped', async () => {
    const { batcher, batches } = open();
    batcher.truncated();
    batcher.result(fetched(0), '2026-11');
    await batcher.flush();
    expect(batches[0]?.frontierTruncated).toBe(true);
  });
});
