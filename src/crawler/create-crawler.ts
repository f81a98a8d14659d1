import type { Network } from '#domain/address.ts';
import { Refusal } from '#domain/errors.ts';
import type { EpochMs } from '#domain/ids.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Claim, FrontierPage, RunStore } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { createAddressGuard, type Lookup, lookupBySystem } from './address-guard.ts';
import type { RunCrawl } from './crawler.ts';
import { createFetchPage } from './fetch-page.ts';
import { type CrawlLimits, DEFAULT_LIMITS } from './limits.ts';
import { createOriginLimiters } from './origin-limiter.ts';
import { createGetRobots } from './robots-cache.ts';
import { runCrawl } from './run-crawl.ts';
import type { SeedPage } from './seed-ending.ts';

export type CrawlerSettings = {
  /** Requests at a time, to one origin and of one crawl. */
  readonly concurrency: number;
  /** Requests a second to one origin; 0: no limit. Inside the allowed networks there is none. */
  readonly ratePerHost: number;
  /** Networks that may be crawled although they are not public. */
  readonly allowNetworks: readonly Network[];
  /** What stands before the first slash is the name that robots.txt is read for. */
  readonly userAgent: string;
  readonly limits?: Partial<CrawlLimits>;
};

export type CrawlerDeps = {
  readonly store: Pick<RunStore, 'commitPages' | 'grantQuota' | 'readFrontier' | 'readPagesBySeq' | 'getRobots' | 'putRobots'>;
  /** Told of each stored snapshot, by rising version; returns at once. */
  readonly publish: (snapshot: Snapshot) => void;
  readonly settings: CrawlerSettings;
  readonly log: Log;
  readonly now: () => EpochMs;
  readonly random: () => number;
  /** How names are resolved; by the system when it is not given. */
  readonly lookup?: Lookup;
};

/** Runs any number of crawls at once. `close` ends every connection, and may be called when no crawl runs. */
export type Crawler = RunCrawl & { readonly close: () => Promise<void> };

const FRONTIER_CHUNK = 1_000;
/** Pages of a start: the start URL and its redirects, and nothing more on any site that behaves. */
const MAX_SEEDS = 100;

/** Resolves after `ms`; rejects with `signal.reason` when that is aborted. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

export function createCrawler({ store, publish, settings, log, now, random, lookup = lookupBySystem }: CrawlerDeps): Crawler {
  const limits: CrawlLimits = { ...DEFAULT_LIMITS, ...settings.limits };
  const { concurrency, ratePerHost, allowNetworks, userAgent } = settings;
  const guard = createAddressGuard({ allowNetworks, lookup, connectMs: limits.connectMs });
  const { fetchPage, close } = createFetchPage({ guard, limits, userAgent, now });
  const limiters = createOriginLimiters({ concurrency, maxPauseMs: limits.retryAfterMs, now });

  /** Asks a store that does not answer again, which is safe, for as long as the crawl may go on. */
  async function patiently<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'unavailable' || signal.aborted) throw error;
        log.warn({ err: error }, 'The store does not answer; the crawl waits for it.');
        await wait(limits.storeRetryMs, signal);
      }
    }
  }

  async function readFrontier({ snapshot, token, batch }: Claim, signal: AbortSignal): Promise<FrontierPage[]> {
    const pages: FrontierPage[] = [];
    for (let more = batch > 0; more; ) {
      const after = pages.at(-1)?.seq ?? -1;
      const chunk = await patiently(() => store.readFrontier(snapshot.id, token, after, FRONTIER_CHUNK), signal);
      if (chunk === 'lost') throw new LeaseLost('Another worker holds the crawl.');
      pages.push(...chunk);
      more = chunk.length === FRONTIER_CHUNK;
    }
    return pages;
  }

  async function readSeeds({ snapshot, token }: Claim, stored: readonly FrontierPage[], signal: AbortSignal): Promise<SeedPage[]> {
    const seqs = stored.filter(({ depth, status }) => depth === 0 && status !== 'queued').map(({ seq }) => seq);
    if (seqs.length === 0) return [];
    const pages = await patiently(() => store.readPagesBySeq(snapshot.id, token, seqs.slice(0, MAX_SEEDS)), signal);
    if (pages === 'lost') throw new LeaseLost('Another worker holds the crawl.');
    return pages;
  }

  const run: RunCrawl = async (claim, control) => {
    const { signal } = control;
    signal.throwIfAborted();
    const crawlLog = log.child({ crawlId: claim.snapshot.id });
    // By the store's clock, in which months and expiries are promised; this process may have another.
    const ahead = now() - claim.claimedAt;
    const storeNow = (): EpochMs => now() - ahead;
    const stored = await readFrontier(claim, signal);
    const seeds = await readSeeds(claim, stored, signal);
    // neither here nor below the URL, which may carry a secret of the site in its query, as may the ending's sentence
    crawlLog.info({ storedPages: stored.length }, 'crawl fetching');
    const ending = await runCrawl(claim, control, {
      store: {
        commitPages: (id, token, batch) => patiently(() => store.commitPages(id, token, batch), signal),
        grantQuota: (id, token, month, wanted) => patiently(() => store.grantQuota(id, token, month, wanted), signal),
      },
      getRobots: createGetRobots({
        store: {
          getRobots: (origin) => patiently(() => store.getRobots(origin), signal),
          putRobots: (origin, robots) => patiently(() => store.putRobots(origin, robots), signal),
        },
        userAgent,
        limits,
        now: storeNow,
        wait,
      }),
      ...{ stored, seeds, publish, guard, limiters, fetchPage, limits, concurrency, ratePerHost, now: storeNow, random },
    });
    crawlLog.info({ endReason: ending.endReason }, 'crawl fetched');
    return ending;
  };
  return Object.assign(run, { close });
}
