import type { CrawlId, EpochMs, OrganizationId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Store } from '#store/store.ts';
import { type AttachDeps, type Attachment, attach } from './attach.ts';
import { NO_PACE } from './pace.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import type { TakeTurn } from './turns.ts';
import { createWatch, type OpenWatch } from './watch.ts';

/** Watchers of every crawl of an organization: one subscription an organization, however many watch it. */
export type OrganizationFeeds = {
  /** Attaches first and reads second; tells what happens after this has resolved. Throws `unavailable`. */
  watch(id: OrganizationId): Promise<OpenWatch>;
  /** Messages may have been lost: what has changed is read. */
  onGap(): void;
};

type Deps = AttachDeps & {
  readonly store: Pick<Store, 'listChanged' | 'now'>;
  readonly readSnapshot: ReadSnapshot;
  readonly takeTurn: TakeTurn;
};

/** What is remembered of a crawl: the newest version that was told, and when it finished. */
type Told = { readonly version: number; readonly finishedAt: EpochMs | null };

type Feed = {
  readonly id: OrganizationId;
  readonly watches: Set<OpenWatch>;
  readonly attachment: Attachment;
  readonly told: Map<CrawlId, Told>;
  /** Watchers that are on their way. */
  joining: number;
  /** Resolves when every change from now on will be told. */
  ready: Promise<void>;
  /** Store's time. What finished before it was told, or is older than the feed, and is not remembered. */
  horizon: EpochMs;
  /** Store's time of the last read of what has changed. */
  readAt: EpochMs;
  reading: boolean;
  /** Asked for while one is under way. */
  readAgain: boolean;
  stopAlarm: (() => void) | null;
  open: boolean;
};

const REREAD_MS = 10_000;
/** A change may become visible this much later than its time says, in milliseconds. */
const OVERLAP_MS = 5_000;
/** Changed crawls in one read; if there are more, the read is repeated for four times as many. */
const FIRST_LIMIT = 1_000;

export function createOrganizationFeeds({ store, readSnapshot, ...deps }: Deps): OrganizationFeeds {
  const { timers, warn, takeTurn } = deps;
  const feeds = new Map<OrganizationId, Feed>();

  function open(id: OrganizationId): Feed {
    const feed: Feed = {
      id,
      watches: new Set(),
      attachment: attach(deps, { kind: 'organization', id }, (snapshot) => hear(feed, snapshot)),
      told: new Map(),
      joining: 0,
      ready: Promise.resolve(),
      horizon: Number.NEGATIVE_INFINITY,
      readAt: 0,
      reading: true,
      readAgain: false,
      stopAlarm: null,
      open: true,
    };
    feeds.set(id, feed);
    feed.ready = begin(feed);
    return feed;
  }

  /** Nobody is told before this has resolved: what it finds is only remembered. */
  async function begin(feed: Feed): Promise<void> {
    await feed.attachment.ready;
    feed.readAt = await store.now();
    await readChanged(feed);
    endReading(feed);
  }

  function closeWhenLeft(feed: Feed): void {
    if (!feed.open || feed.watches.size > 0 || feed.joining > 0) return;
    feed.open = false;
    feed.attachment.end();
    feed.stopAlarm?.();
    feeds.delete(feed.id);
  }

  /** From the bus: may be old, or come twice. */
  function hear(feed: Feed, snapshot: Snapshot): void {
    // An unknown crawl that runs may also be a late message of one that has finished long ago: the store tells.
    if (feed.told.has(snapshot.id) || isFinal(snapshot) || snapshot.startedAt >= feed.horizon) tell(feed, snapshot);
    else
      readSnapshot(snapshot.id).then(
        (stored) => stored !== null && tell(feed, stored),
        (error: unknown) => warn(error, 'a crawl that was heard of could not be read: the next reading of changes has it'),
      );
  }

  /** As it is, or was not long ago. */
  function tell(feed: Feed, snapshot: Snapshot): void {
    const { id, version, finishedAt } = snapshot;
    const told = feed.told.get(id);
    const isKnown = told === undefined ? finishedAt !== null && finishedAt < feed.horizon : version <= told.version;
    if (!feed.open || isKnown) return;
    feed.told.set(id, { version, finishedAt });
    for (const watch of feed.watches) watch.offer(snapshot);
  }

  async function readChanged(feed: Feed): Promise<void> {
    const since = feed.readAt - OVERLAP_MS;
    for (let limit = FIRST_LIMIT; ; limit *= 4) {
      const { snapshots, readAt } = await store.listChanged(feed.id, since, limit);
      if (snapshots.length === limit) continue;
      for (const snapshot of snapshots) tell(feed, snapshot);
      feed.horizon = since;
      feed.readAt = readAt;
      for (const [id, { finishedAt }] of feed.told) if (finishedAt !== null && finishedAt < since) feed.told.delete(id);
      return;
    }
  }

  /** Never rejects. */
  async function reread(feed: Feed): Promise<void> {
    if (feed.reading) {
      feed.readAgain = true;
      return;
    }
    feed.reading = true;
    feed.stopAlarm?.();
    feed.attachment.retry();
    try {
      await readChanged(feed);
    } catch (error) {
      warn(error, "an organization's changed crawls could not be read: it is tried again");
    }
    endReading(feed);
  }

  function endReading(feed: Feed): void {
    feed.reading = false;
    if (!feed.open) return;
    feed.stopAlarm = timers.after(feed.readAgain ? 0 : REREAD_MS, () => void reread(feed));
    feed.readAgain = false;
  }

  return {
    async watch(id) {
      const feed = feeds.get(id) ?? open(id);
      feed.joining++;
      try {
        await feed.ready;
        const watch = createWatch({ timers, pace: NO_PACE, takeTurn, endsWithFinal: false });
        feed.watches.add(watch);
        watch.watch.onEnd(() => {
          feed.watches.delete(watch);
          closeWhenLeft(feed);
        });
        return watch;
      } finally {
        feed.joining--;
        closeWhenLeft(feed);
      }
    },
    onGap() {
      for (const feed of feeds.values()) void reread(feed);
    },
  };
}
