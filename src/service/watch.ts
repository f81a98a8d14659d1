import type { Refusal } from '#domain/errors.ts';
import type { Snapshot } from '#domain/snapshot.ts';

/** Why a watch is over. */
export type WatchEnd =
  /** The final snapshot was taken, or the watcher had it before. */
  | { readonly kind: 'final' }
  /** `return` was called. */
  | { readonly kind: 'left' }
  /**
   * `unauthorized`, `insufficient_scope`: the key lost the right; `not_found`: the crawl was deleted; `unavailable`: this gateway
   * stops or the watcher fell too far behind, so watch again (elsewhere).
   */
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * A source of snapshots that is pulled. At most one snapshot a crawl waits in it, the latest; each crawl's come by strictly rising
 * version and intermediate ones may be missing. Whoever got it must call `return` unless it has come to its end.
 */
export type Watch = {
  /** Resolves when there is one to take: `done` after `final` and `left`. Rejects with the refusal, once; is `done` afterwards. */
  next(): Promise<IteratorResult<Snapshot, undefined>>;
  /** Ends it; a pending `next` is `done` at once. Never rejects. */
  return(): Promise<IteratorReturnResult<undefined>>;
  [Symbol.asyncIterator](): Watch;
  /** Calls `listener` when it ends, also while nobody pulls; at once when it has ended. */
  onEnd(listener: (end: WatchEnd) => void): void;
};
