import type { Month, PageBatch } from '#domain/batch.ts';
import type { Ending } from '#domain/crawl.ts';
import type { Finding } from '#domain/finding.ts';
import type { CrawlId, EpochMs, LeaseToken, OrganizationId } from '#domain/ids.ts';
import type { DiscoveredPage, Page, PageStatus, PageWithLinks } from '#domain/page.ts';
import type { Hold } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';

/** A worker's right to run a crawl, until it is released, lost or the crawl is finished. */
export type Claim = {
  readonly snapshot: Snapshot;
  readonly token: LeaseToken;
  /** The last committed batch; 0 when there is none. */
  readonly batch: number;
  /** What the crawl holds of its organization's quota, one entry a month. */
  readonly holds: readonly Hold[];
  /** How the fetching ended, when the phase is `analyzing`: only the analysis is left to do. Else null. */
  readonly ending: Ending | null;
  /** Live leases on crawls of the same authority, this one included. */
  readonly leasesOnAuthority: number;
  /** The store's time of the claim; the crawl's age is this less `startedAt`. */
  readonly claimedAt: EpochMs;
};

export type Heartbeat = { readonly cancelRequested: boolean; readonly leasesOnAuthority: number };

/**
 * `granted` is the hold's total; `used` what of it is charged already. The total may be the one that the crawl knows: nothing is free,
 * but it holds unused pages itself (under way, or the answer to an earlier grant was lost). Then ask again later, not at once.
 */
export type Grant =
  | { readonly kind: 'granted'; readonly granted: number; readonly used: number }
  /** Nothing is free now, the crawl has used its own, but others hold pages that they may give back: ask again later. */
  | { readonly kind: 'wait' }
  /** Nothing is free, and nobody holds an unused page. */
  | { readonly kind: 'exhausted' };

/** What waits for a worker, over all organizations. */
export type Queue = {
  readonly waiting: number;
  /** How long the oldest has waited since its start, in milliseconds; 0 when none waits. */
  readonly oldestMs: number;
};

/** A page as a resuming worker needs it. */
export type FrontierPage = Pick<DiscoveredPage, 'seq' | 'url' | 'depth' | 'redirects'> & { readonly status: PageStatus };

/** An origin's robots.txt as it was answered: `body` is null when it could not be had, and `error` says why. */
export type StoredRobots = {
  readonly status: number | null;
  readonly body: string | null;
  readonly error: string | null;
  readonly fetchedAt: EpochMs;
  readonly expiresAt: EpochMs;
};

/**
 * What a worker does with a crawl. Every write takes the lease token and answers 'lost', with nothing stored, when another worker
 * holds the crawl, its lease has expired and been reaped, or it is final.
 */
export type RunStore = {
  /**
   * Gives the caller, under `token` (fresh, made by it), the oldest claimable crawl of the organization with the fewest running
   * ones; null when there is none. Claimable is a running crawl without a lease; an expired lease stands until it is reaped. Never
   * gives one crawl to two; among racing callers the fairness is approximate. Repeated under a token that holds a lease it answers
   * that claim again and leaves the lease as it is.
   */
  claim(token: LeaseToken, leaseMs: number): Promise<Claim | null>;
  /**
   * Of these organizations, the one that is to give a lease up for another one: it has the most, and at least two more than the organization
   * has whose crawl a claim would be given now, so that it still has more afterwards. Null when nobody waits, or none has so many.
   */
  whoYields(organizationIds: readonly OrganizationId[]): Promise<OrganizationId | null>;
  /** The crawls that a claim could be given now; reads each of them. For operators. */
  getQueue(): Promise<Queue>;
  /** Extends the lease by `leaseMs` from now. */
  heartbeat(crawlId: CrawlId, token: LeaseToken, leaseMs: number): Promise<Heartbeat | 'lost'>;
  /** Gives the crawl back, claimable at once; never counts as a loss. No-op when the lease is lost. */
  release(crawlId: CrawlId, token: LeaseToken): Promise<void>;
  /**
   * Takes away every lease that has expired, each counted as a loss; a crawl lost five times in a row with no page stored between
   * ends `worker_lost`. Answers the snapshots of those that ended.
   */
  reapLeases(): Promise<Snapshot[]>;
  /** A crawl's pages by seq, from after `afterSeq` (−1: from the start), everything committed included. At most `limit`. */
  readFrontier(crawlId: CrawlId, token: LeaseToken, afterSeq: number, limit: number): Promise<FrontierPage[] | 'lost'>;
  /**
   * Stores a batch; one commit point, repeatable: the same number under the same token answers the snapshot without storing it
   * again. Sets the phase to `fetching`, resets the losses when the batch has results, and charges its fetched pages, for which
   * the caller holds grants: a batch that charges more is a defect of the caller, which a store may refuse (a `RangeError`, nothing
   * stored), but need not notice. At most 100 pages (discovered and results together) and 1 MiB a batch; more pages, and a number that
   * does not follow the last one, are a `RangeError`. A page may be discovered and get its result in one batch.
   */
  commitPages(crawlId: CrawlId, token: LeaseToken, batch: PageBatch): Promise<Snapshot | 'lost'>;
  /**
   * Adds min(100, free, wanted) pages to the crawl's hold of `month`; `wanted` is at least 1. `used` of the crawl is never above `granted`, and no
   * grant makes used + reserved of the organization exceed its limit.
   */
  grantQuota(crawlId: CrawlId, token: LeaseToken, month: Month, wanted: number): Promise<Grant | 'lost'>;
  /**
   * Ends the fetching: phase `analyzing`; keeps the ending for whoever finishes. Pushes `crawl.analyzing`. Repeated, also by a later
   * run, it changes nothing: the first ending stays.
   */
  beginAnalysis(crawlId: CrawlId, token: LeaseToken, ending: Ending): Promise<Snapshot | 'lost'>;
  /** Pages with their links, by seq, as `readFrontier`. For analysis, which streams over them. */
  readPages(crawlId: CrawlId, token: LeaseToken, afterSeq: number, limit: number): Promise<PageWithLinks[] | 'lost'>;
  /** The pages with these seqs, in no order; at most 1,000. */
  readPagesBySeq(crawlId: CrawlId, token: LeaseToken, seqs: readonly number[]): Promise<Page[] | 'lost'>;
  /** Adds findings of this run; repeatable by ordinal. At most 500 a call. Readers see them once the run has finished the crawl. */
  addFindings(crawlId: CrawlId, token: LeaseToken, findings: readonly Finding[]): Promise<'stored' | 'lost'>;
  /**
   * Ends the crawl: state, endReason, error, findingsCount (null when it was not analysed), finishedAt. This run's findings become
   * the valid ones and others are removed. Gives unused quota back and closes the holds. Pushes `crawl.done` or `crawl.failed`.
   */
  finish(crawlId: CrawlId, token: LeaseToken, ending: Ending, findingsCount: number | null): Promise<Snapshot | 'lost'>;
  /** The cached robots.txt of an origin, while it has not expired. */
  getRobots(origin: string): Promise<StoredRobots | null>;
  putRobots(origin: string, robots: StoredRobots): Promise<void>;
};
