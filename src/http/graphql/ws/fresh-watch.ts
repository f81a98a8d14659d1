import type { CrawlId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Watch } from '#service/watch.ts';

/** A source of snapshots for one execution that many share. */
export type SharedSource = {
  /** The crawl that is watched; null for all of an organization. */
  readonly crawlId: CrawlId | null;
  /** What was given last: the answer that comes out of the execution next is about it. */
  readonly given: () => Snapshot | null;
  /** Gives a snapshot that was read elsewhere, if it is newer than what was given; only of the crawl that is watched. */
  readonly offer: (snapshot: Snapshot) => void;
  readonly watch: Watch;
};

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/** All crawls of an organization, as the watch gives them. */
export function shareOrganization(watch: Watch): SharedSource {
  let given: Snapshot | null = null;
  const shared: Watch = {
    async next() {
      const result = await watch.next();
      if (!result.done) given = result.value;
      return result;
    },
    return: watch.return,
    [Symbol.asyncIterator]: () => shared,
    onEnd: watch.onEnd,
  };
  return { crawlId: null, given: () => given, offer() {}, watch: shared };
}

/**
 * One crawl. Whoever joins later has read the stored snapshot, which may be ahead of the watch: it is offered, and so reaches all in
 * the order of versions.
 */
export function shareCrawl(crawlId: CrawlId, watch: Watch): SharedSource {
  let given: Snapshot | null = null;
  let offered: Snapshot | null = null;
  let pulled: ReturnType<Watch['next']> | null = null;
  let wake = (): void => {};
  let isOver = false;

  const isNewer = ({ version }: Snapshot): boolean => version > (given?.version ?? 0);
  function give(snapshot: Snapshot): IteratorYieldResult<Snapshot> {
    given = snapshot;
    if (isFinal(snapshot)) end();
    return { value: snapshot, done: false };
  }
  function end(): void {
    isOver = true;
    wake();
    void watch.return(); // never rejects
  }

  const shared: Watch = {
    async next() {
      for (;;) {
        if (isOver) return DONE;
        const fresh = offered;
        offered = null;
        if (fresh !== null && isNewer(fresh)) return give(fresh);
        const woken = new Promise<null>((resolve) => {
          wake = () => resolve(null);
        });
        pulled ??= watch.next();
        const result = await Promise.race([pulled, woken]);
        if (result === null) continue;
        pulled = null;
        if (result.done) return DONE;
        if (isNewer(result.value)) return give(result.value);
      }
    },
    async return() {
      end();
      return DONE;
    },
    [Symbol.asyncIterator]: () => shared,
    onEnd: watch.onEnd,
  };
  return {
    crawlId,
    given: () => given,
    offer(snapshot) {
      offered = snapshot;
      wake();
    },
    watch: shared,
  };
}
