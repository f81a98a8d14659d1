import { describe, expect, test } from 'vitest';
import { countersOf, type PageBatch } from './batch.ts';
import { DONE_REASONS, FAILED_REASONS, isAnalyzed, stateOf } from './crawl.ts';
import type { DiscoveredPage, PageResult } from './page.ts';
import { isFinal, urlsQueued } from './snapshot.ts';

const found = (seq: number, status: DiscoveredPage['status'] = 'queued'): DiscoveredPage => ({
  seq,
  url: `https://example.com/${seq}`,
  depth: 1,
  status,
  reason: null,
  foundOn: null,
  redirects: 0,
});

const result = (seq: number, status: PageResult['status']): PageResult => ({
  seq,
  status,
  httpStatus: null,
  contentType: null,
  reason: null,
  redirectUrl: null,
  fetchedAt: 0,
  durationMs: 0,
  bytes: 0,
  truncated: false,
  facts: null,
  links: [],
  otherLinks: [],
  linksTruncated: false,
});

const batch = (discovered: DiscoveredPage[], results: PageResult[]): PageBatch => ({
  number: 1,
  discovered,
  results,
  charges: {},
  frontierTruncated: false,
});

describe('the counters of a batch', () => {
  test('count what was discovered, and each result by its status', () => {
    const results = [result(0, 'fetched'), result(1, 'fetched'), result(2, 'redirected'), result(3, 'failed'), result(4, 'blocked')];
    expect(countersOf(batch([found(5), found(6)], results))).toEqual({ discovered: 2, fetched: 2, redirected: 1, failed: 1, blocked: 1 });
  });

  test('count a page that is blocked at its discovery in both', () => {
    const counters = countersOf(batch([found(1), found(2, 'blocked')], []));
    expect(counters).toEqual({ discovered: 2, fetched: 0, redirected: 0, failed: 0, blocked: 1 });
    expect(urlsQueued(counters)).toBe(1);
  });

  test('of an empty batch are zero', () => {
    expect(countersOf(batch([], []))).toEqual({ discovered: 0, fetched: 0, redirected: 0, failed: 0, blocked: 0 });
  });
});

describe('an end reason', () => {
  test('stands for one final state', () => {
    for (const reason of DONE_REASONS) expect(stateOf(reason)).toBe('done');
    for (const reason of FAILED_REASONS) expect(stateOf(reason)).toBe('failed');
    expect(isFinal({ state: 'running' })).toBe(false);
    expect(isFinal({ state: 'done' }) && isFinal({ state: 'failed' })).toBe(true);
  });

  test('says whether the crawl is analysed: done always, failed with pages, never when its record cannot be trusted', () => {
    for (const reason of DONE_REASONS) expect(isAnalyzed(reason, 0)).toBe(true);
    for (const reason of FAILED_REASONS) {
      expect(isAnalyzed(reason, 0)).toBe(false);
      expect(isAnalyzed(reason, 1)).toBe(reason !== 'worker_lost' && reason !== 'internal_error');
    }
  });
});
