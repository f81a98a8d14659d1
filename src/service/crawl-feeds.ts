import { notFound } from '#domain/errors.ts';
import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import { type AttachDeps, type Attachment, attach } from './attach.ts';
import { createPace } from './pace.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import { createWatch, type OpenWatch } from './watch.ts';

/** Watchers of single crawls: one subscription a crawl, however many watch it. */
export type CrawlFeeds = {
  /** Attaches first and reads second. Throws `not_found`, `unavailable`. */
  watch(id: CrawlId, organizationId: OrganizationId, afterVersion: number): Promise<OpenWatch>;
  /** Messages may have been lost: every watched crawl is read anew. */
  onGap(): void;
};

type Deps = AttachDeps & { readonly readSnapshot: ReadSnapshot };

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

/** A watched crawl that was not heard of for this long is read again, in milliseconds. */
const REREAD_MS = 10_000;
const TICK_MS = 1_000;
/** At most 5 a second. */
const PACE_MS = 200;

export function createCrawlFeeds({ readSnapshot, ...deps }: Deps): CrawlFeeds {
  const { timers, warn } = deps;
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

  /** Never rejects. */
  async function reread(feed: Feed): Promise<void> {
    const readAt = timers.now();
    feed.knownAt = readAt;
    try {
      const snapshot = await readSnapshot(feed.id);
      if (snapshot !== null) hear(feed, snapshot);
      else if (feed.open) endDeleted(feed);
    } catch (error) {
      if (feed.knownAt === readAt) feed.knownAt = Number.NEGATIVE_INFINITY; // again at the next tick
      warn(error, 'a watched crawl could not be read: it is tried again');
    }
  }

  function endDeleted(feed: Feed): void {
    for (const watch of feed.watches) watch.end({ kind: 'refused', refusal: notFound() });
  }

  async function rereadUnheard(): Promise<void> {
    const before = timers.now() - REREAD_MS;
    const unheard = [...feeds.values()].filter(({ knownAt }) => knownAt <= before);
    await Promise.all(unheard.map(reread));
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
    const watch = createWatch({ timers, pace: createPace(PACE_MS), endsWithFinal: true });
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
