/** Public and coarse. A new crawl is `running`; the other two are final. */
export type CrawlState = 'running' | 'done' | 'failed';
export const CRAWL_STATES = ['running', 'done', 'failed'] as const satisfies readonly CrawlState[];

/** Finer than the state, and never in contradiction to it: `finished` exactly when the state is final. */
export type CrawlPhase = 'queued' | 'fetching' | 'analyzing' | 'finished';
export const CRAWL_PHASES = ['queued', 'fetching', 'analyzing', 'finished'] as const satisfies readonly CrawlPhase[];

export const DONE_REASONS = ['completed', 'max_urls'] as const;
export const FAILED_REASONS = [
  'seed_unreachable',
  'seed_blocked_by_robots',
  'address_not_allowed',
  'quota_exhausted',
  'time_limit',
  'cancelled',
  'worker_lost',
  'internal_error',
] as const;

export type DoneReason = (typeof DONE_REASONS)[number];
export type FailedReason = (typeof FAILED_REASONS)[number];
/** Why a crawl ended; a closed list. */
export type EndReason = DoneReason | FailedReason;

/** How a crawl's fetching ended. `error` is one human sentence with the fact in it; null exactly for the `done` reasons. */
export type Ending =
  | { readonly endReason: DoneReason; readonly error: null }
  | { readonly endReason: FailedReason; readonly error: string };

/** The final state that an end reason stands for. */
export const stateOf = (reason: EndReason): 'done' | 'failed' => ((DONE_REASONS as readonly string[]).includes(reason) ? 'done' : 'failed');

/**
 * Whether a crawl that ended so, with `fetched` pages, is analysed: every `done` crawl, and a failed one that fetched pages,
 * unless the failure says that its own record or runner cannot be trusted.
 */
export function isAnalyzed(reason: EndReason, fetched: number): boolean {
  if (stateOf(reason) === 'done') return true;
  return fetched > 0 && reason !== 'worker_lost' && reason !== 'internal_error';
}

export const DEFAULT_MAX_URLS = 500;
export const MOST_MAX_URLS = 10_000;
export const DEFAULT_MAX_DEPTH = 3;
/** Queued pages that a crawl may hold beyond its maxUrls; a URL beyond that is dropped and sets `frontierTruncated`. */
export const FRONTIER_SLACK = 10_000;
/** A crawl ends `time_limit` after this long, in milliseconds. */
export const CRAWL_TIME_LIMIT_MS = 6 * 60 * 60 * 1000;
/** An Idempotency-Key is remembered for this long, per organization, in milliseconds. */
export const IDEMPOTENCY_MS = 24 * 60 * 60 * 1000;
