import { notFound } from '#domain/errors.ts';
import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Store } from '#store/store.ts';
import { type AttachDeps, type Attachment, attach } from './attach.ts';
import { createPace } from './pace.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import type { TakeTurn } from './turns.ts';
import { createWatch, type OpenWatch } from './watch.ts';

/** Watchers of single crawls: one subscription a crawl, however many watch it. */
export type CrawlFeeds = {
  /** Attaches first and reads second. Throws `not_found`, `unavailable`. */
  watch(id: CrawlId, organizationId: OrganizationId, afterVersion: number): Promise<OpenWatch>;
  /** Messages may have been lost: every watched crawl is read anew. */
  onGap(): void;
};

type Deps = AttachDeps & { readonly store: Pick<Store, 'getVersions'>; readonly readSnapshot: ReadSnapshot; readonly takeTurn: TakeTurn };

type Feed = {
  readonly id: CrawlId;
  readonly watches: Set<OpenWatch>;
  readonly attachment: Attachment;
  /** Watchers that are on their way. */
  joining: number;
  /** The newest that is known. */
  latest: Snapshot | null;
  /** When it was last known to be the newest, by the store or by a newer one; in the time of `timers`. */
  knownAt: number;
  open: boolean;
};

/** A watched crawl that was not heard of for this long is asked for its version, in milliseconds. */
const REREAD_MS = 10_000;
/** Crawls in one query. */
const MOST_VERSIONS = 250;
const TICK_MS = 1_000;
const UNREADABLE = 'a watched crawl could not be read: it is tried again';
/** At most 5 a second. */
const PACE_MS = 200;

export function createCrawlFeeds({ store, readSnapshot, ...deps }: Deps): CrawlFeeds {
  const { timers, warn, takeTurn } = deps;
  const feeds = new Map<CrawlId, Feed>();
  let stopTicking: (() => void) | null = null;

  function open(id: CrawlId): Feed {
    const feed: Feed = {
      id,
      watches: new Set(),
      attachment: attach(deps, { kind: 'crawl', id }, (snapshot) => hear(feed, snapshot)),
      joining: 0,
      latest: null,
      knownAt: timers.now(),
      open: true,
    };
    feeds.set(id, feed);
    stopTicking ??= timers.after(TICK_MS, tick);
    return feed;
  }

  function close(feed: Feed): void {
    if (!feed.open) return;
    feed.open = false;
    feed.attachment.end();
    feeds.delete(feed.id);
    if (feeds.size > 0) return;
    stopTicking?.();
    stopTicking = null;
  }

  const closeWhenLeft = (feed: Feed): void => {
    if (feed.watches.size === 0 && feed.joining === 0) close(feed);
  };

  /** Only a newer one counts as being heard of: what comes twice or late must not put off the reading. */
  function hear(feed: Feed, snapshot: Snapshot): void {
    if (!feed.open || (feed.latest !== null && snapshot.version <= feed.latest.version)) return;
    feed.latest = snapshot;
    feed.knownAt = timers.now();
    if (isFinal(snapshot)) close(feed);
    for (const watch of feed.watches) watch.offer(snapshot);
  }

  /** At the next tick, unless it was heard of since `readAt`. */
  function again(feed: Feed | undefined, readAt: number): void {
    if (feed?.knownAt === readAt) feed.knownAt = Number.NEGATIVE_INFINITY;
  }

  /** Never rejects. */
  async function reread(feed: Feed): Promise<void> {
    const readAt = timers.now();
    feed.knownAt = readAt;
    try {
      const snapshot = await readSnapshot(feed.id);
      if (snapshot !== null) hear(feed, snapshot);
      else if (feed.open) endDeleted(feed);
    } catch (error) {
      again(feed, readAt);
      warn(error, UNREADABLE);
    }
  }

  function endDeleted(feed: Feed): void {
    for (const watch of feed.watches) watch.end({ kind: 'refused', refusal: notFound() });
  }

  /** Whose version is still the known one, as nearly always, is not read whole. Never rejects. */
  async function rereadUnheard(): Promise<void> {
    const readAt = timers.now();
    const unheard: Snapshot[] = [];
    for (const feed of feeds.values()) {
      if (feed.latest === null || feed.knownAt > readAt - REREAD_MS) continue; // null: who is on the way will read it
      feed.knownAt = readAt;
      unheard.push(feed.latest);
    }
    for (let at = 0; at < unheard.length; at += MOST_VERSIONS) {
      try {
        await readVersions(unheard.slice(at, at + MOST_VERSIONS));
      } catch (error) {
        for (const { id } of unheard.slice(at)) again(feeds.get(id), readAt);
        return warn(error, UNREADABLE);
      }
    }
  }

  async function readVersions(known: readonly Snapshot[]): Promise<void> {
    const versions = await store.getVersions(known);
    for (const { id } of known) {
      const feed = feeds.get(id);
      const version = versions.get(id);
      if (feed?.latest == null) continue; // left, or final, meanwhile
      if (version === undefined) endDeleted(feed);
      else if (version > feed.latest.version) void reread(feed);
    }
  }

  function tick(): void {
    stopTicking = timers.after(TICK_MS, tick);
    for (const { attachment } of feeds.values()) attachment.retry();
    void rereadUnheard(); // never rejects
  }

  async function join(feed: Feed, organizationId: OrganizationId, afterVersion: number): Promise<OpenWatch> {
    await feed.attachment.ready;
    const stored = await readSnapshot(feed.id);
    if (stored === null || stored.organizationId !== organizationId) throw notFound();
    hear(feed, stored);
    const latest = newer(stored, feed.latest);
    const watch = createWatch({ timers, pace: createPace(PACE_MS), takeTurn, endsWithFinal: true });
    const isNew = latest.version > afterVersion || afterVersion > stored.version;
    if (isNew) watch.offer(latest);
    if (isFinal(latest)) {
      if (!isNew) watch.end({ kind: 'final' });
      return watch;
    }
    feed.watches.add(watch);
    watch.watch.onEnd(() => {
      feed.watches.delete(watch);
      closeWhenLeft(feed);
    });
    return watch;
  }

  return {
    async watch(id, organizationId, afterVersion) {
      const feed = feeds.get(id) ?? open(id);
      feed.joining++;
      try {
        return await join(feed, organizationId, afterVersion);
      } finally {
        feed.joining--;
        closeWhenLeft(feed);
      }
    },
    onGap() {
      for (const feed of feeds.values()) feed.knownAt = Number.NEGATIVE_INFINITY;
      void rereadUnheard();
    },
  };
}

const newer = (one: Snapshot, other: Snapshot | null): Snapshot => (other !== null && other.version > one.version ? other : one);
