import { type Refusal, unavailable } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Timers } from '#domain/timers.ts';
import type { Pace } from './pace.ts';
import type { TakeTurn } from './turns.ts';

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

/** A watch and what its feed does with it. */
export type OpenWatch = {
  readonly watch: Watch;
  /** Newer than what was offered of that crawl before; replaces what waits of it. Does nothing once the watch has ended. */
  offer(snapshot: Snapshot): void;
  /** What waits is not told any more. Does nothing once the watch has ended. */
  end(end: WatchEnd): void;
};

type WatchOptions = {
  readonly timers: Timers;
  /** How often one is given; a final one does not wait. */
  readonly pace: Pace;
  /** Shared with the other watches of the process: thousands that are told at once leave room for other work, and for newer updates. */
  readonly takeTurn: TakeTurn;
  /** Whether it ends with the first final snapshot. */
  readonly endsWithFinal: boolean;
};

/** Crawls of which an update may wait in one watch. A reader that is further behind watches again, and reads what it needs. */
const MOST_WAITING = 10_000;

const DONE = { done: true, value: undefined } as const;

export function createWatch({ timers, pace, takeTurn, endsWithFinal }: WatchOptions): OpenWatch {
  const waiting = new Map<CrawlId, Snapshot>();
  const pulls: PromiseWithResolvers<IteratorResult<Snapshot, undefined>>[] = [];
  const listeners: ((end: WatchEnd) => void)[] = [];
  let ended: WatchEnd | null = null;
  let untold: Refusal | null = null;
  let stopAlarm: (() => void) | null = null;
  let isInLine = false;

  function isItsTurn(): boolean {
    if (!isInLine) isInLine = !takeTurn(onTurn);
    return !isInLine;
  }

  function onTurn(): void {
    isInLine = false;
    give();
  }

  /** Gives what waits to who pulls, as far as the pace allows; else when it does. */
  function give(): void {
    for (const [id, snapshot] of waiting) {
      const pull = pulls[0];
      if (pull === undefined) return;
      const now = timers.now();
      const waitMs = pace.next() - now;
      if (waitMs > 0 && !isFinal(snapshot)) {
        stopAlarm ??= timers.after(Math.ceil(waitMs), () => {
          stopAlarm = null;
          give();
        });
        return;
      }
      if (!isItsTurn()) return;
      pace.done(now);
      waiting.delete(id);
      pulls.shift();
      pull.resolve({ done: false, value: snapshot });
      if (endsWithFinal && isFinal(snapshot)) end({ kind: 'final' });
    }
  }

  function end(reason: WatchEnd): void {
    if (ended !== null) return;
    ended = reason;
    waiting.clear();
    stopAlarm?.();
    if (reason.kind === 'refused') {
      const first = pulls.shift();
      if (first === undefined) untold = reason.refusal;
      else first.reject(reason.refusal);
    }
    for (const pull of pulls.splice(0)) pull.resolve(DONE);
    for (const listener of listeners.splice(0)) listener(reason);
  }

  const watch: Watch = {
    next() {
      if (untold !== null) {
        const refusal = untold;
        untold = null;
        return Promise.reject(refusal);
      }
      if (ended !== null) return Promise.resolve(DONE);
      const pull = Promise.withResolvers<IteratorResult<Snapshot, undefined>>();
      pulls.push(pull);
      give();
      return pull.promise;
    },
    async return() {
      untold = null;
      end({ kind: 'left' });
      return DONE;
    },
    [Symbol.asyncIterator]: () => watch,
    onEnd(listener) {
      if (ended === null) listeners.push(listener);
      else listener(ended);
    },
  };
  return {
    watch,
    offer(snapshot) {
      if (ended !== null) return;
      waiting.set(snapshot.id, snapshot);
      if (waiting.size > MOST_WAITING) end({ kind: 'refused', refusal: unavailable('The watcher fell too far behind: watch again.') });
      else give();
    },
    end,
  };
}
