import { describe, expect, it } from 'vitest';
import type { FrontierPage } from '#store/store.ts';
import { createFrontier, type Entry, type Frontier } from './frontier.ts';

const open = (some: Partial<Parameters<typeof createFrontier>[0]> = {}): Frontier =>
  createFrontier({ maxUrls: 100, maxQueued: 1_000, stored: [], now: () => 0, ...some });
const add = (frontier: Frontier, url: string, depth: number): number | null =>
  frontier.discover({ url, depth, redirects: 0, blocked: false });
const take = (frontier: Frontier): Entry => {
  const entry = frontier.take();
  if (entry === null) throw new Error('nothing to take');
  return entry;
};

describe('the frontier', () => {
  it('gives pages out by depth, then by discovery, and no deeper one before all of a depth have ended', () => {
    const frontier = open();
    add(frontier, 'seed', 0);
    expect(take(frontier).url).toBe('seed');
    add(frontier, 'a', 1);
    add(frontier, 'b', 1);
    expect(frontier.take()).toBeNull();
    frontier.settle('fetched');
    expect(take(frontier).url).toBe('a');
    add(frontier, 'deep', 2);
    expect(take(frontier).url).toBe('b');
    frontier.settle('fetched');
    expect(frontier.take()).toBeNull();
    add(frontier, 'redirect target of b', 1);
    expect(take(frontier).url).toBe('redirect target of b');
    frontier.settle('fetched');
    frontier.settle('fetched');
    expect(take(frontier).url).toBe('deep');
  });

  it('starts no more pages than may be fetched, and another when one was a redirect', () => {
    const frontier = open({ maxUrls: 2 });
    for (const url of ['a', 'b', 'c']) add(frontier, url, 0);
    take(frontier);
    take(frontier);
    expect(frontier.isReady()).toBe(false);
    frontier.settle('other');
    expect(take(frontier).url).toBe('c');
    frontier.settle('fetched');
    frontier.settle('fetched');
    expect(frontier.isFinished()).toBe(true);
    expect(frontier.counts()).toMatchObject({ fetched: 2, queued: 0 });
  });

  it('is finished at maxUrls with pages left', () => {
    const frontier = open({ maxUrls: 1 });
    add(frontier, 'a', 0);
    add(frontier, 'b', 0);
    take(frontier);
    expect(frontier.isFinished()).toBe(false);
    frontier.settle('fetched');
    expect(frontier.isFinished()).toBe(true);
    expect(frontier.counts().queued).toBe(1);
  });

  it('gives a page out again when it is due, and is not finished before', () => {
    let time = 0;
    const frontier = open({ now: () => time });
    add(frontier, 'a', 0);
    add(frontier, 'deeper', 1);
    const entry = take(frontier);
    entry.retryAt = 10;
    frontier.retry(entry);
    expect([frontier.isReady(), frontier.isFinished(), frontier.take()]).toEqual([false, false, null]);
    time = 10;
    expect(frontier.take()).toBe(entry);
    frontier.settle('fetched');
    expect(take(frontier).url).toBe('deeper');
  });

  it('drops URLs beyond its bound', () => {
    const frontier = open({ maxQueued: 2 });
    add(frontier, 'a', 0);
    expect(frontier.isFull()).toBe(false);
    add(frontier, 'b', 0);
    expect(frontier.isFull()).toBe(true);
    expect(add(frontier, 'c', 0)).toBeNull();
    expect(frontier.seqOf('c')).toBeUndefined();
    take(frontier);
    frontier.settle('fetched');
    expect(add(frontier, 'c', 0)).toBe(2);
  });

  // a site of links that only redirect stored 110,000 pages in a minute for 40 that were charged, and would have gone on for six hours
  it('keeps the place of a page that was a redirect, or had no response, also when it was stored before', () => {
    const frontier = open({ maxQueued: 2, stored: [{ seq: 0, url: 'a', depth: 0, redirects: 0, status: 'redirected' }] });
    add(frontier, 'b', 0);
    expect(add(frontier, 'c', 0)).toBeNull();
    take(frontier);
    frontier.settle('other');
    expect([add(frontier, 'c', 0), frontier.isFull(), frontier.isFinished()]).toEqual([null, true, true]);
  });

  it('goes on from what was stored', () => {
    const page = (seq: number, depth: number, status: FrontierPage['status']): FrontierPage => ({
      seq,
      url: `u${seq}`,
      depth,
      redirects: 0,
      status,
    });
    const frontier = open({
      maxUrls: 3,
      stored: [page(0, 0, 'fetched'), page(1, 1, 'fetched'), page(2, 1, 'queued'), page(3, 2, 'queued'), page(4, 1, 'blocked')],
    });
    expect(frontier.counts()).toEqual({ known: 5, queued: 2, fetched: 2, underWay: 0 });
    expect(frontier.seqOf('u1')).toBe(1);
    expect(take(frontier).url).toBe('u2');
    expect(add(frontier, 'new', 2)).toBe(5);
    frontier.settle('other');
    expect(take(frontier).url).toBe('u3');
    frontier.settle('fetched');
    expect(frontier.isFinished()).toBe(true);
  });

  it('gives out each of many pages of one depth once, in order', () => {
    const frontier = open({ maxUrls: 5_000, maxQueued: 5_000 });
    for (let seq = 0; seq < 3_000; seq++) add(frontier, `u${seq}`, 1);
    const seqs = Array.from({ length: 3_000 }, () => take(frontier).seq);
    expect(seqs).toEqual(Array.from({ length: 3_000 }, (_, seq) => seq));
    expect(frontier.take()).toBeNull();
  });
});
