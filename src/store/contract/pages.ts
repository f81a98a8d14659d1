import { expect } from 'vitest';
import type { PageBatch } from '#domain/batch.ts';
import type { CrawlId, LeaseToken, OrganizationId } from '#domain/ids.ts';
import type { DiscoveredPage, Page, PageResult } from '#domain/page.ts';
import { monthOf } from '#domain/quota.ts';
import { type Snapshot, urlsQueued } from '#domain/snapshot.ts';
import type { FrontierPage, Store } from '#store/store.ts';

export const thisMonth = (): string => monthOf(Date.now());

export const discovered = (seq: number, changes: Partial<DiscoveredPage> = {}): DiscoveredPage => ({
  seq,
  url: seq === 0 ? 'https://example.com/' : `https://example.com/page-${seq}`,
  depth: seq === 0 ? 0 : 1,
  status: 'queued',
  reason: null,
  foundOn: seq === 0 ? null : 0,
  redirects: 0,
  ...changes,
});

export const fetched = (seq: number, changes: Partial<PageResult> = {}): PageResult => ({
  seq,
  status: 'fetched',
  httpStatus: 200,
  contentType: 'text/html; charset=utf-8',
  reason: null,
  redirectUrl: null,
  fetchedAt: 1_795_000_000_000 + seq,
  durationMs: 12,
  bytes: 3_456,
  truncated: false,
  facts: {
    title: `Page ${seq}`,
    description: null,
    lang: 'en',
    canonical: null,
    h1Count: 1,
    imagesWithoutAlt: 0,
    textLength: 321,
    noindex: false,
    nofollow: false,
  },
  links: [],
  otherLinks: [],
  linksTruncated: false,
  ...changes,
});

/** A result of a page that yielded nothing to analyse. */
export const without = (seq: number, status: 'redirected' | 'failed' | 'blocked', changes: Partial<PageResult> = {}): PageResult =>
  fetched(seq, { status, httpStatus: null, contentType: null, bytes: 0, facts: null, ...changes });

/** A batch that charges its fetched pages to the current month, unless `changes` says otherwise. */
export function batchOf(number: number, changes: Partial<PageBatch> = {}): PageBatch {
  const count = (changes.results ?? []).filter((result) => result.status === 'fetched').length;
  const charges = count === 0 ? {} : { [thisMonth()]: count };
  return { number, discovered: [], results: [], charges, frontierTruncated: false, ...changes };
}

export const seqs = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Commits `count` fetched pages as batches from `first` on, the pages' seqs from `seq` on, after granting for them. */
export async function fetchPages(store: Store, id: CrawlId, token: LeaseToken, count: number, from = { batch: 1, seq: 0 }): Promise<void> {
  for (let done = 0, number = from.batch; done < count; number++) {
    const size = Math.min(50, count - done);
    const range = seqs(from.seq + done, from.seq + done + size - 1);
    const grant = await store.grantQuota(id, token, thisMonth(), size);
    expect(grant).toMatchObject({ kind: 'granted' });
    const batch = batchOf(number, { discovered: range.map((seq) => discovered(seq)), results: range.map((seq) => fetched(seq)) });
    expect(await store.commitPages(id, token, batch)).not.toBe('lost');
    done += size;
  }
}

/** Every page of a crawl, read in steps of `limit`. */
export async function allPages(store: Store, organizationId: OrganizationId, id: CrawlId, limit = 100): Promise<Page[]> {
  const pages: Page[] = [];
  for (;;) {
    const step = await store.listPages(organizationId, id, { afterSeq: pages.at(-1)?.seq ?? -1, limit });
    if (step === null) throw new Error('the crawl is absent');
    if (step.length === 0) return pages;
    pages.push(...step);
  }
}

export async function wholeFrontier(store: Store, id: CrawlId, token: LeaseToken): Promise<FrontierPage[]> {
  const frontier = await store.readFrontier(id, token, -1, 30_000);
  if (frontier === 'lost') throw new Error('the lease is lost');
  return frontier;
}

/** Checks that the counters of `snapshot` are those of `pages`, each of which is there once. */
export function expectCountersOf(snapshot: Snapshot, pages: readonly { seq: number; url: string; status: string }[]): void {
  const count = (status: string) => pages.filter((page) => page.status === status).length;
  expect(new Set(pages.map((page) => page.seq)).size).toBe(pages.length);
  expect(new Set(pages.map((page) => page.url)).size).toBe(pages.length);
  expect(snapshot.counters).toEqual({
    discovered: pages.length,
    fetched: count('fetched'),
    redirected: count('redirected'),
    failed: count('failed'),
    blocked: count('blocked'),
  });
  expect(urlsQueued(snapshot.counters)).toBe(count('queued'));
}
