import type { Caller } from '#domain/account.ts';
import type { FollowKey } from './follow-key.ts';
import type { Watch } from './watch.ts';

/**
 * Watches a crawl: the stored snapshot first, unless its version is not above `afterVersion`; then newer ones, at most 5 a
 * second; the final one always and at once, and then it ends. `afterVersion` above the stored version is taken as 0. Throws
 * `not_found` (also for an id that is no UUID, and for another organization's crawl), `insufficient_scope`, `unavailable`.
 */
export type WatchCrawl = (id: string, caller: Caller, options?: { readonly afterVersion?: number }) => Promise<Watch>;

/**
 * Watches every crawl of the caller's organization for what happens after this has resolved; has no end of its own. Throws
 * `insufficient_scope`, `unavailable`.
 */
export type WatchOrganization = (caller: Caller) => Promise<Watch>;

/** All watchers of this process. */
export type WatchHub = {
  readonly watchCrawl: WatchCrawl;
  readonly watchOrganization: WatchOrganization;
  readonly followKey: FollowKey;
  /** Ends every watch, and refuses new ones, with `unavailable`: the watchers are to reconnect. Nothing is left open or ticking. */
  stop(): void;
};
