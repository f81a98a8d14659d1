import { type Ending, FRONTIER_SLACK } from '#domain/crawl.ts';
import type { EpochMs } from '#domain/ids.ts';
import { CANCELLED_ERROR, LeaseLost } from '#domain/lease.ts';
import type { DiscoveredPage } from '#domain/page.ts';
import { sameRegistrableDomain } from '#domain/registrable-domain.ts';
import { authorityOf, targetOf } from '#domain/url.ts';
import type { Claim, FrontierPage, RunStore } from '#store/store.ts';
import type { AddressGuard } from './address-guard.ts';
import { createBatcher } from './batcher.ts';
import { createCrawlOrigins } from './crawl-origins.ts';
import { createDrive } from './crawlee.ts';
import type { CrawlControl } from './crawler.ts';
import type { FetchPage } from './fetch-page.ts';
import { createLinkFollower } from './follow-links.ts';
import { createFrontier, type Entry } from './frontier.ts';
import type { CrawlLimits } from './limits.ts';
import type { OriginLimiters } from './origin-limiter.ts';
import { createQuotaMeter } from './quota-meter.ts';
import type { GetRobots } from './robots-cache.ts';
import { type SeedPage, seedEnding } from './seed-ending.ts';
import { createVisitPage } from './visit-page.ts';

export type RunDeps = {
  /** Answers 'lost' as it is; whatever else fails for a moment has been tried again. */
  readonly store: Pick<RunStore, 'commitPages' | 'grantQuota'>;
  readonly stored: readonly FrontierPage[];
  /** The stored pages of the start that have ended. */
  readonly seeds: readonly SeedPage[];
  readonly guard: AddressGuard;
  readonly limiters: OriginLimiters;
  readonly getRobots: GetRobots;
  readonly fetchPage: FetchPage;
  readonly publish: Parameters<typeof createBatcher>[0]['onCommitted'];
  readonly limits: CrawlLimits;
  readonly concurrency: number;
  readonly ratePerHost: number;
  readonly now: () => EpochMs;
  readonly random: () => number;
};

/** Why the fetching stops before the frontier is finished. */
type Halt = { readonly ending: Ending } | { readonly error: unknown; readonly isLost: boolean };

const hours = (ms: number): string => (ms % 3_600_000 === 0 ? `${ms / 3_600_000} hours` : `${ms / 1000} seconds`);

/** Runs one crawl from its stored frontier to its end; the contract is that of `RunCrawl`. */
export async function runCrawl(claim: Claim, control: CrawlControl, deps: RunDeps): Promise<Ending> {
  const { store, stored, guard, limits, now } = deps;
  const { snapshot, token } = claim;
  const seedUrl = new URL(snapshot.url);
  const stopping = new AbortController();
  const { signal } = stopping;
  let halted: Halt | null = null;
  const halt = (why: Halt): void => {
    if (halted !== null) return;
    halted = why;
    stopping.abort(new Error('The fetching of this crawl has ended.'));
  };
  const fail = (error: unknown): void => halt({ error, isLost: error instanceof LeaseLost });
  const onAbort = (): void => halt({ error: control.signal.reason, isLost: control.signal.reason instanceof LeaseLost });
  const onCancelled = (): void => halt({ ending: { endReason: 'cancelled', error: CANCELLED_ERROR } });
  const onTimeUp = (): void =>
    halt({ ending: { endReason: 'time_limit', error: `The crawl was not finished ${hours(limits.crawlMs)} after its start.` } });

  const batcher = createBatcher({
    lastBatch: claim.batch,
    commit: (batch) => store.commitPages(snapshot.id, token, batch),
    onCommitted: deps.publish,
    onError: fail,
  });
  const maxQueued = snapshot.maxUrls + FRONTIER_SLACK;
  const frontier = createFrontier({ maxUrls: snapshot.maxUrls, maxQueued, stored, now });
  const scope = new Set([authorityOf(seedUrl)]);
  for (const page of stored) if (page.depth === 0) scope.add(authorityOf(new URL(page.url)));
  const seeds = [...deps.seeds];

  const quota = createQuotaMeter({
    holds: claim.holds,
    async grant(month, wanted) {
      const grant = await store.grantQuota(snapshot.id, token, month, wanted);
      if (grant === 'lost') throw new LeaseLost('Another worker holds the crawl.');
      return grant;
    },
    wanted: () => snapshot.maxUrls - frontier.counts().fetched,
    now,
    waitMs: limits.quotaWaitMs,
    signal,
    onError: fail,
  });
  const origins = createCrawlOrigins({ ...deps, leases: control.leasesOnAuthority, signal });
  const { robotsOf } = origins;
  const discovered = (page: DiscoveredPage): void => {
    batcher.discovered(page);
    if (page.depth === 0 && page.status === 'blocked') seeds.push({ ...page, redirectUrl: null });
  };
  const follower = createLinkFollower({
    frontier,
    batcher: { ...batcher, discovered },
    scope,
    maxDepth: snapshot.maxDepth,
    maxUnfollowed: FRONTIER_SLACK,
    robotsOf,
  });

  /** Pages of the start may lead to another host of its registrable domain, which belongs to the crawl from then on. */
  function admits(entry: Entry, target: URL): boolean {
    if (entry.depth === 0 && guard.refusal(target) === null && sameRegistrableDomain(seedUrl.hostname, target.hostname))
      scope.add(authorityOf(target));
    return scope.has(authorityOf(target));
  }
  const visit = createVisitPage({
    ...deps,
    frontier,
    batcher,
    quota,
    follower,
    laneOf: origins.laneOf,
    admits,
    signal,
    onResult(entry, { status, reason, redirectUrl }, setsCookie) {
      if (entry.depth === 0) seeds.push({ seq: entry.seq, url: entry.url, status, reason, redirectUrl, setsCookie });
    },
    onQuotaExhausted: () =>
      halt({ ending: { endReason: 'quota_exhausted', error: "The organization's monthly URL quota was used up during the crawl." } }),
  });

  /** Discovers the start, unless its origin's robots.txt or the guard has decided already. */
  async function begin(): Promise<void> {
    const refusal = guard.refusal(seedUrl);
    const robots = refusal === null ? await robotsOf(seedUrl.origin) : null;
    const verdict = robots?.check(targetOf(seedUrl)) ?? { allowed: true };
    const reason = refusal ?? (verdict.allowed ? null : verdict.reason);
    const status = reason === null ? 'queued' : 'blocked';
    frontier.discover({ url: seedUrl.href, depth: 0, redirects: 0, blocked: reason !== null });
    discovered({ seq: 0, url: seedUrl.href, depth: 0, foundOn: null, redirects: 0, status, reason });
  }

  const timer = setTimeout(onTimeUp, Math.max(0, limits.crawlMs - (claim.claimedAt - snapshot.startedAt)));
  control.signal.addEventListener('abort', onAbort);
  control.cancelled.addEventListener('abort', onCancelled);
  try {
    if (control.signal.aborted) onAbort();
    else if (control.cancelled.aborted) onCancelled();
    if (stored.length === 0 && halted === null) await begin().catch(fail);
    if (halted === null) await createDrive({ frontier, concurrency: deps.concurrency, visit, onError: fail, now, signal }).run();
    return await end();
  } finally {
    clearTimeout(timer);
    control.signal.removeEventListener('abort', onAbort);
    control.cancelled.removeEventListener('abort', onCancelled);
    stopping.abort(new Error('The fetching of this crawl has ended.'));
    batcher.stop();
    origins.leave();
  }

  async function end(): Promise<Ending> {
    const why = halted as Halt | null;
    if (why !== null && 'error' in why) {
      // What was fetched by now is stored if it can be; that it cannot be is told by what ends the crawl anyway.
      if (!why.isLost) await batcher.flush().catch(() => {});
      throw why.error;
    }
    follower.discoverUnfollowed();
    await batcher.flush();
    if (why !== null) return why.ending;
    const seed = seedEnding(seeds, guard.refusal);
    if (seed !== null) return seed;
    return { endReason: frontier.counts().queued > 0 ? 'max_urls' : 'completed', error: null };
  }
}
