import type { CrawlId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Bus } from './bus.ts';

/** Updates of one crawl are told at most once in this time, in milliseconds. */
export const COALESCE_MS = 200;

/** Publishes a crawl's snapshots no oftener than readers can use. */
export type CoalescedPublisher = {
  /** The first one at once, then the latest at most once an interval, a final one at once. Snapshots must come by rising version. */
  publish(snapshot: Snapshot): void;
  /** Publishes all that waits, now. */
  flush(): void;
};

type Deps = {
  readonly bus: Pick<Bus, 'publish'>;
  /** Calls back once, `ms` from now; answers how to stop that. */
  readonly after: (ms: number, callback: () => void) => () => void;
  readonly intervalMs?: number;
};

type Quiet = { waiting: Snapshot | null; end: () => void };

export function createCoalescedPublisher({ bus, after, intervalMs = COALESCE_MS }: Deps): CoalescedPublisher {
  /** The crawls that were told of less than an interval ago. */
  const quiet = new Map<CrawlId, Quiet>();

  function tell(snapshot: Snapshot): void {
    quiet.get(snapshot.id)?.end();
    quiet.delete(snapshot.id);
    if (!isFinal(snapshot)) {
      const entry: Quiet = { waiting: null, end: after(intervalMs, () => endOf(snapshot.id, entry)) };
      quiet.set(snapshot.id, entry);
    }
    void bus.publish(snapshot); // never rejects
  }

  function endOf(id: CrawlId, { waiting }: Quiet): void {
    quiet.delete(id);
    if (waiting !== null) tell(waiting);
  }

  return {
    publish(snapshot) {
      const entry = quiet.get(snapshot.id);
      if (entry === undefined || isFinal(snapshot)) tell(snapshot);
      else entry.waiting = snapshot;
    },
    flush() {
      for (const [id, entry] of [...quiet]) {
        entry.end();
        endOf(id, entry);
      }
      // what was told just now starts no new wait
      for (const { end } of quiet.values()) end();
      quiet.clear();
    },
  };
}
