import type { Bus } from '#bus/bus.ts';
import type { Caller } from '#domain/account.ts';
import { notFound, type Refusal, unavailable } from '#domain/errors.ts';
import { type CrawlId, isUuid } from '#domain/ids.ts';
import type { Timers } from '#domain/timers.ts';
import type { Store } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { createCrawlFeeds } from './crawl-feeds.ts';
import { type ConfirmKey, createFollowKey, type FollowKey } from './follow-key.ts';
import type { GetCrawl } from './get-crawl.ts';
import { createOrganizationFeeds } from './organization-feeds.ts';
import { createReadSnapshot } from './read-snapshot.ts';
import { requireScope } from './require-scope.ts';
import { createSparseWarn } from './sparse-warn.ts';
import { createTakeTurn } from './turns.ts';
import type { OpenWatch, Watch } from './watch.ts';

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
  readonly confirmKey: ConfirmKey;
  /** As `GetCrawl`, by a read that is shared with all who ask at the same time: they may be thousands that come back at once. */
  readonly readWatched: GetCrawl;
  /** Ends every watch, and refuses new ones, with `unavailable`: the watchers are to reconnect. Nothing is left open or ticking. */
  stop(): void;
};

type Deps = {
  readonly store: Pick<Store, 'getSnapshots' | 'getVersions' | 'listChanged' | 'now' | 'findKeyBySecret'>;
  readonly bus: Pick<Bus, 'subscribe' | 'onGap'>;
  readonly timers: Timers;
  readonly log: Pick<Log, 'warn'>;
};

export function createWatchHub({ store, bus, timers, log }: Deps): WatchHub {
  const warn = createSparseWarn({ log, timers });
  const readSnapshot = createReadSnapshot({ store });
  const takeTurn = createTakeTurn();
  const crawls = createCrawlFeeds({ store, readSnapshot, bus, timers, warn, takeTurn });
  const organizations = createOrganizationFeeds({ store, readSnapshot, bus, timers, warn, takeTurn });
  const keys = createFollowKey({ store, timers, warn });
  const watches = new Set<OpenWatch>();
  let stopped = false;
  const stopListening = bus.onGap(() => {
    crawls.onGap();
    organizations.onGap();
  });

  function refuseWhenStopped(): void {
    if (stopped) throw stopping();
  }

  /** Ends with the key's right, and with the hub. */
  function keep(opened: OpenWatch, caller: Caller): Watch {
    const { watch, end } = opened;
    watches.add(opened);
    const stopFollowing = keys.followKey(caller, (refusal) => end({ kind: 'refused', refusal }));
    watch.onEnd(() => {
      watches.delete(opened);
      stopFollowing();
    });
    if (stopped) end({ kind: 'refused', refusal: stopping() });
    return watch;
  }

  return {
    async watchCrawl(id, caller, { afterVersion = 0 } = {}) {
      requireScope(caller, 'crawls:read');
      refuseWhenStopped();
      if (!isUuid(id)) throw notFound();
      return keep(await crawls.watch(id.toLowerCase() as CrawlId, caller.organizationId, afterVersion), caller);
    },
    async watchOrganization(caller) {
      requireScope(caller, 'crawls:read');
      refuseWhenStopped();
      return keep(await organizations.watch(caller.organizationId), caller);
    },
    followKey: keys.followKey,
    confirmKey: keys.confirmKey,
    async readWatched(id, caller) {
      requireScope(caller, 'crawls:read');
      const stored = await readSnapshot(id);
      if (stored === null || stored.organizationId !== caller.organizationId) throw notFound();
      return stored;
    },
    stop() {
      stopped = true;
      stopListening();
      for (const { end } of watches) end({ kind: 'refused', refusal: stopping() });
      keys.stop();
    },
  };
}

const stopping = (): Refusal => unavailable('This gateway is stopping: watch again.');
