import type { AddressGuard } from './address-guard.ts';
import type { FetchPage } from './fetch-page.ts';
import type { CrawlLimits } from './limits.ts';
import { type Lane, type Load, loadOf, type OriginLimiters } from './origin-limiter.ts';
import { type GetRobots, type OriginRobots, wantRobots } from './robots-cache.ts';

/** What a crawl keeps of each origin that it meets: its robots.txt and its lane. */
export type CrawlOrigins = {
  /** At once when the origin has been met before. */
  readonly robotsOf: (origin: string) => OriginRobots | Promise<OriginRobots>;
  /** The lane, in which the pause that robots.txt asks for is kept. */
  readonly laneOf: (origin: string) => Promise<Lane>;
  readonly leave: () => void;
};

type Deps = {
  readonly guard: AddressGuard;
  readonly limiters: OriginLimiters;
  readonly getRobots: GetRobots;
  readonly fetchPage: FetchPage;
  readonly limits: CrawlLimits;
  readonly ratePerHost: number;
  readonly leases: () => number;
  readonly signal: AbortSignal;
};

export function createCrawlOrigins({ guard, limiters, getRobots, fetchPage, limits, ratePerHost, leases, signal }: Deps): CrawlOrigins {
  const met = new Map<string, { readonly lane: Lane; readonly robots: OriginRobots }>();
  const meeting = new Map<string, Promise<{ readonly lane: Lane; readonly robots: OriginRobots }>>();
  const lanes: Lane[] = [];

  async function meet(origin: string): Promise<{ lane: Lane; robots: OriginRobots }> {
    const isAllowed = await guard.isInAllowedNetwork(new URL(origin).hostname);
    signal.throwIfAborted(); // a lane that is taken now would never be left
    let crawlDelayMs = 0;
    const rate = isAllowed || ratePerHost <= 0 ? null : ratePerHost;
    const lane = limiters.lane(origin, { leases, rate, crawlDelayMs: () => crawlDelayMs });
    lanes.push(lane);
    const robots = await getRobots(
      origin,
      async (url) => {
        await lane.acquire(signal);
        let load: Load | null = null;
        try {
          const answer = await fetchPage(url, wantRobots(limits), signal);
          load = loadOf(answer);
          return answer;
        } finally {
          lane.done(load);
        }
      },
      signal,
    );
    crawlDelayMs = robots.crawlDelay * 1000;
    met.set(origin, { lane, robots });
    return { lane, robots };
  }

  function meetOnce(origin: string): Promise<{ lane: Lane; robots: OriginRobots }> {
    const known = meeting.get(origin);
    if (known !== undefined) return known;
    const fresh = meet(origin);
    meeting.set(origin, fresh);
    return fresh;
  }

  return {
    robotsOf: (origin) => met.get(origin)?.robots ?? meetOnce(origin).then(({ robots }) => robots),
    laneOf: async (origin) => met.get(origin)?.lane ?? (await meetOnce(origin)).lane,
    leave() {
      for (const lane of lanes) lane.leave();
    },
  };
}
