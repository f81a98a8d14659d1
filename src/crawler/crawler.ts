import type { Ending } from '#domain/crawl.ts';
import type { Claim } from '#store/store.ts';

export type CrawlControl = {
  /** Aborted when the crawl must stop without an ending: the lease is lost, or the process stops. */
  readonly signal: AbortSignal;
  /** Aborted when somebody cancelled the crawl: it ends `cancelled`, with what was fetched stored. */
  readonly cancelled: AbortSignal;
  /** Live leases on the crawl's authority, as the last heartbeat told; the crawl takes its share of the origin's rate. */
  readonly leasesOnAuthority: () => number;
};

/**
 * Fetches a claimed crawl from its stored frontier to its end. Every page is stored when this resolves. Throws `LeaseLost` when a
 * write answered so, and `control.signal.reason` when that is aborted: what was fetched by then has been committed, if the lease
 * still held. Any other exception is a defect: the crawl ends `internal_error`.
 */
export type RunCrawl = (claim: Claim, control: CrawlControl) => Promise<Ending>;
