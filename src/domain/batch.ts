import type { DiscoveredPage, PageResult } from './page.ts';

/** Pages by status; `queued` is computed (see `urlsQueued`), never stored, so that the sum holds at every version. */
export type Counters = {
  readonly discovered: number;
  readonly fetched: number;
  readonly redirected: number;
  readonly failed: number;
  readonly blocked: number;
};

/** A UTC month, `2026-11`. */
export type Month = string;

/** What one commit stores: newly discovered pages and results of queued ones. */
export type PageBatch = {
  /** One more than the last committed batch of the crawl; the first is 1. */
  readonly number: number;
  readonly discovered: readonly DiscoveredPage[];
  readonly results: readonly PageResult[];
  /** Fetched pages by the month in which their request was sent; the sum equals the `fetched` results. */
  readonly charges: Readonly<Record<Month, number>>;
  /** A URL was dropped because the frontier is full. */
  readonly frontierTruncated: boolean;
};

export const MAX_BATCH_PAGES = 100;
export const MAX_BATCH_BYTES = 1024 * 1024;
/** A batch is committed at the latest this long after its first page, in milliseconds. */
export const MAX_BATCH_AGE_MS = 200;

/** What a batch adds to its crawl's counters. Depends on the batch alone, so that a repeated commit can be recognized and left out. */
export function countersOf(batch: PageBatch): Counters {
  const count = { discovered: batch.discovered.length, fetched: 0, redirected: 0, failed: 0, blocked: 0 };
  for (const page of batch.discovered) if (page.status === 'blocked') count.blocked++;
  for (const result of batch.results) count[result.status]++;
  return count;
}
