import { expect, it } from 'vitest';
import { parseNetwork } from '#domain/address.ts';
import { createAddressGuard } from './address-guard.ts';
import { createCrawlOrigins } from './crawl-origins.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { createOriginLimiters } from './origin-limiter.ts';

// The origin was counted as one with a crawl for as long as the process ran, and gave each later crawl half of what it may have.
it('An origin whose name is still being looked up when its crawl ends is not counted as one with a crawl', async () => {
  const found = Promise.withResolvers<{ address: string; family: number }[]>();
  const guard = createAddressGuard({ allowNetworks: [parseNetwork('10.0.0.0/8')], lookup: () => found.promise, connectMs: 1_000 });
  const limiters = createOriginLimiters({ concurrency: 4, maxPauseMs: 1_000, now: Date.now });
  const stop = new AbortController();
  const { signal } = stop;
  const origins = createCrawlOrigins({
    guard,
    limiters,
    getRobots: () => Promise.reject(signal.reason),
    fetchPage: () => Promise.reject(signal.reason),
    limits: DEFAULT_LIMITS,
    ratePerHost: 0,
    leases: () => 1,
    signal,
  });
  const met = origins.laneOf('http://site.example');
  stop.abort(new Error('The crawl has ended.'));
  origins.leave();
  found.resolve([{ address: '10.0.0.1', family: 4 }]);
  await expect(met).rejects.toThrow('The crawl has ended.');

  const lane = limiters.lane('http://site.example', { leases: () => 1, rate: null, crawlDelayMs: () => 0 });
  const turns = Promise.all(Array.from({ length: 4 }, () => lane.acquire(AbortSignal.timeout(20_000))));
  await expect(turns).resolves.toHaveLength(4);
});
