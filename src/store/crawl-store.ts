import type { CrawlState } from '#domain/crawl.ts';
import type { Finding, Severity } from '#domain/finding.ts';
import type { CrawlId, EpochMs, KeyId, OrganizationId, SiteId } from '#domain/ids.ts';
import type { Page, PageStatus } from '#domain/page.ts';
import type { Usage } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { StartAllowance } from '#domain/start-ring.ts';

export type NewCrawl = {
  readonly id: CrawlId;
  readonly organizationId: OrganizationId;
  /** The key whose ring the start takes a slot of. */
  readonly keyId: KeyId;
  readonly url: string;
  readonly host: string;
  readonly authority: string;
  readonly maxUrls: number;
  readonly maxDepth: number;
  /** The client's Idempotency-Key and a hash of what it asked for; kept 24 h per organization. Null without one. */
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
};

export type CreateCrawlOutcome =
  | { readonly kind: 'created' | 'replayed'; readonly snapshot: Snapshot; readonly starts: StartAllowance }
  /** The idempotency key was used for something else. */
  | { readonly kind: 'mismatch'; readonly starts: StartAllowance }
  | { readonly kind: 'rate_limited'; readonly retryAfterMs: number; readonly starts: StartAllowance }
  | { readonly kind: 'quota_exceeded'; readonly resetsAt: EpochMs; readonly starts: StartAllowance }
  /** There is none, or it is being removed. */
  | { readonly kind: 'no_organization' };

export type CrawlFilter = { readonly siteId?: SiteId; readonly state?: CrawlState; readonly host?: string };
/** A crawl's place in the order (startedAt, id), both descending. */
export type CrawlPosition = { readonly startedAt: EpochMs; readonly id: CrawlId };

export type CrawlListQuery = CrawlFilter & {
  readonly organizationId: OrganizationId;
  /** Newest first, only what comes after (is older than) this place. */
  readonly after?: CrawlPosition;
  /** Only what comes before (is newer than) this place; with it the nearest ones are given, still newest first. */
  readonly before?: CrawlPosition;
  readonly limit: number;
};

/** A crawl, and whose it is to be. */
export type OwnedCrawl = { readonly organizationId: OrganizationId; readonly id: CrawlId };

/** Ordered by authority. */
export type SiteListQuery = { readonly organizationId: OrganizationId; readonly after?: string; readonly limit: number };

export type PageListQuery = { readonly status?: PageStatus; readonly afterSeq?: number; readonly limit: number };
export type FindingListQuery = {
  readonly severity?: Severity;
  readonly rule?: string;
  readonly afterOrdinal?: number;
  readonly limit: number;
};

export type SiteRecord = {
  readonly id: SiteId;
  readonly organizationId: OrganizationId;
  readonly host: string;
  readonly authority: string;
  readonly firstCrawledAt: EpochMs;
  readonly lastCrawledAt: EpochMs;
};

/** What a tenant's client does with crawls. */
export type CrawlStore = {
  /**
   * Makes a crawl durable, or says why not. In this order: without the organization 'no_organization'; a known idempotency key with the same request answers the crawl it made
   * ('replayed'), with another request 'mismatch'; the month's quota used up is 'quota_exceeded'; the key's ring full is
   * 'rate_limited'. Only 'created' uses up a slot. Repeating the call with the same id is safe: the second one is 'replayed'.
   * A crash leaves at most one used slot, or a crawl that will run. Pushes `crawl.started` and makes the site. A new crawl has
   * version 1 and counters of zero: its worker discovers the start URL.
   */
  createCrawl(crawl: NewCrawl): Promise<CreateCrawlOutcome>;
  /** What the key may still start. */
  getStartAllowance(keyId: KeyId): Promise<StartAllowance>;
  getCrawl(organizationId: OrganizationId, id: CrawlId): Promise<Snapshot | null>;
  /** The ones that exist, in one read, in no order; for watchers, which have been admitted before. At most 1,000 ids. */
  getSnapshots(ids: readonly CrawlId[]): Promise<Snapshot[]>;
  /**
   * The versions of the ones that exist and are the named organization's, in one read that costs a small part of their snapshots. At
   * most 1,000 crawls.
   */
  getVersions(crawls: readonly OwnedCrawl[]): Promise<ReadonlyMap<CrawlId, number>>;
  /** An organization's crawls that changed at or after `since` (the store's time), oldest change first, and the time of the read. */
  listChanged(organizationId: OrganizationId, since: EpochMs, limit: number): Promise<{ snapshots: Snapshot[]; readAt: EpochMs }>;
  listCrawls(query: CrawlListQuery): Promise<Snapshot[]>;
  /**
   * For each of `ids` that waits for a worker (running, and nobody holds a lease of it) its place among its organization's crawls
   * that do, from 1, by (startedAt, id): the order in which workers take them. At most 1,000 ids.
   */
  getQueuePositions(organizationId: OrganizationId, ids: readonly CrawlId[]): Promise<ReadonlyMap<CrawlId, number>>;
  /** How many match, counted up to `most`. */
  countCrawls(organizationId: OrganizationId, filter: CrawlFilter, most: number): Promise<number>;
  /**
   * Asks a running crawl to end `cancelled`. One in phase `queued` that nobody holds a lease of ends at once; of another the
   * worker, or the next one, is told by `cancelRequested`. Repeatable. Null when absent.
   */
  cancelCrawl(organizationId: OrganizationId, id: CrawlId): Promise<Snapshot | 'final' | null>;
  /**
   * Removes a final crawl with its pages, its findings and its idempotency record (the key may start another one). Its charge and
   * its events stay, those included that were not relayed yet. Null when absent.
   */
  deleteCrawl(organizationId: OrganizationId, id: CrawlId): Promise<'deleted' | 'not_final' | null>;
  getSites(organizationId: OrganizationId, ids: readonly SiteId[]): Promise<SiteRecord[]>;
  listSites(query: SiteListQuery): Promise<SiteRecord[]>;
  /** By seq. Null when the crawl is absent. While it runs the list may trail by one batch; it is exact when the crawl is final. */
  listPages(organizationId: OrganizationId, crawlId: CrawlId, query: PageListQuery): Promise<Page[] | null>;
  /** Of the valid run only, by ordinal. Null when the crawl is absent; empty until it is final. */
  listFindings(organizationId: OrganizationId, crawlId: CrawlId, query: FindingListQuery): Promise<Finding[] | null>;
  /** Of the current month. Null when the organization does not exist. */
  getUsage(organizationId: OrganizationId): Promise<Usage | null>;
};
