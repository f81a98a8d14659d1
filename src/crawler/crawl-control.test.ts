import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import type { LeaseToken } from '#domain/ids.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { Store } from '#store/store.ts';
import { type CrawlWorld, controlOf, openCrawlWorld } from '../../test/fixtures/crawl-world.ts';
import { answer, inTurn, page, type Route, type Routes, redirect, type Site, startSite } from '../../test/fixtures/site.ts';

const opened: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function open(routes: Routes, options: Parameters<typeof openCrawlWorld>[0] = {}): Promise<{ site: Site; world: CrawlWorld }> {
  const site = await startSite(routes);
  opened.push(site);
  const world = await openCrawlWorld(options);
  opened.push(world);
  return { site, world };
}

const after =
  (ms: number, text: string): Route =>
  (_, response) =>
    void setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(text), ms);

/** A start page that links to `count` pages, each of which takes `ms`. */
function wideSite(count: number, ms = 0): Routes {
  const links = Array.from({ length: count }, (_, index) => `/p${index}`);
  return { '/': page('Home', links), ...Object.fromEntries(links.map((link) => [link, after(ms, page(link))])) };
}

const fetchedCount = (site: Site): number => site.paths().length;

describe('a site that takes two connections at a time', () => {
  it('loses no page, though four are tried at first', async () => {
    const { site, world } = await open(wideSite(12, 30), {
      settings: { concurrency: 4 },
      limits: { retryAfterMs: 2_000, headersMs: 5_000, pageMs: 5_000 },
    });
    let connections = 0;
    let dropped = 0;
    site.server.on('connection', (socket) => {
      connections++;
      socket.once('close', () => connections--);
      if (connections <= 2) return;
      dropped++;
      socket.resetAndDestroy();
    });
    const { snapshot } = await world.crawl(`${site.origin}/`);
    expect(dropped).toBeGreaterThan(0);
    expect(snapshot.counters).toMatchObject({ fetched: 13, failed: 0 });
  });
});

describe('the quota', () => {
  it('ends a crawl that uses it up, without a request too many', async () => {
    const { site, world } = await open(wideSite(50), { quota: 12 });
    const { ending, snapshot, usage } = await world.crawl(`${site.origin}/`);
    expect(ending).toEqual({ endReason: 'quota_exhausted', error: "The organization's monthly URL quota was used up during the crawl." });
    expect([snapshot.counters.fetched, usage.used, fetchedCount(site)]).toEqual([12, 12, 12]);
  });

  it('that is used up by the last page does not end the crawl', async () => {
    const { site, world } = await open(wideSite(9), { quota: 10 });
    expect((await world.crawl(`${site.origin}/`)).ending.endReason).toBe('completed');
  });

  it('is not used by redirects and pages without a response', async () => {
    const links = ['/r1', '/r2', '/dead', '/a', '/b'];
    const dead: Route = (request) => void request.socket.destroy();
    const { site, world } = await open(
      { '/': page('Home', links), '/r1': redirect('/a'), '/r2': redirect('/b'), '/dead': dead, '/a': page('A'), '/b': page('B') },
      { quota: 3 },
    );
    const { ending, usage } = await world.crawl(`${site.origin}/`);
    expect(ending.endReason).toBe('completed');
    expect(usage.used).toBe(3);
  });

  it('is shared by two crawls that race for its last pages, to the last of them', async () => {
    const { site, world } = await open(wideSite(30, 5), { quota: 25 });
    const [one, other] = [await world.claim(`${site.origin}/`), await world.claim(`${site.origin}/?other`)];
    const endings = await Promise.all([world.run(one), world.run(other)].map(async (run) => (await run).ending.endReason));
    expect(endings).toContain('quota_exhausted');
    const usage = await world.store.getUsage(world.tenant.organizationId);
    expect(usage?.used).toBe(25);
    expect(fetchedCount(site)).toBe(25);
  });

  it('that was lowered below what is used ends the crawl when its grant is used up', async () => {
    const { site, world } = await open(wideSite(150), { quota: 1_000 });
    const claim = await world.claim(`${site.origin}/`, { maxUrls: 200 });
    const running = world.run(claim);
    await site.asked('/p20');
    await world.store.setMonthlyUrlQuota(world.tenant.organizationId, 5);
    const { ending, usage } = await running;
    expect(ending.endReason).toBe('quota_exhausted');
    expect(usage.used).toBeLessThanOrEqual(100);
    expect(usage.used).toBe(fetchedCount(site));
  });

  it('is that of the month in which a request was sent, also when the month changes during the crawl', async () => {
    const charges: Readonly<Record<string, number>>[] = [];
    let time = Date.UTC(2026, 10, 30, 23, 59, 59);
    const { site, world } = await open(
      {
        '/': page('Home', ['/late']),
        '/late': (_, response) => {
          time = Date.UTC(2026, 11, 1);
          response.writeHead(200, { 'content-type': 'text/html' }).end(page('Late', ['/next']));
        },
        '/next': page('Next'),
      },
      {
        now: () => time,
        wrap: (store) => ({
          ...store,
          commitPages(id, token, batch) {
            charges.push(batch.charges);
            return store.commitPages(id, token, batch);
          },
        }),
      },
    );
    const claim = await world.claim(`${site.origin}/`);
    const { ending, snapshot } = await world.run({ ...claim, claimedAt: time, snapshot: { ...claim.snapshot, startedAt: time } });
    expect(ending.endReason).toBe('completed');
    expect(snapshot.counters.fetched).toBe(3);
    const sum = (month: string): number => charges.reduce((total, charge) => total + (charge[month] ?? 0), 0);
    expect([sum('2026-11'), sum('2026-12')]).toEqual([2, 1]);
  });

  it('is that of the month of the store, whatever the clock of the worker shows', async () => {
    let failed = 0;
    const { site, world } = await open(
      {
        '/': page('Home', ['/again']),
        '/again': (_, response) => void response.writeHead(failed++ === 0 ? 503 : 200, { 'content-type': 'text/html' }).end(page('Again')),
      },
      { now: () => Date.now() + 40 * 24 * 60 * 60 * 1_000 },
    );
    const { ending, usage } = await world.crawl(`${site.origin}/`);
    expect(ending.endReason).toBe('completed');
    expect(usage.used).toBe(2);
  });
});

describe('a crawl that is', () => {
  it('cancelled ends so, with what was fetched stored', async () => {
    const { site, world } = await open(wideSite(60, 30));
    const cancel = new AbortController();
    const running = world.crawl(`${site.origin}/`, { control: { cancelled: cancel.signal } });
    await site.asked('/p20');
    cancel.abort();
    const { ending, snapshot } = await running;
    expect(ending).toEqual({ endReason: 'cancelled', error: 'The crawl was cancelled.' });
    expect(snapshot.counters.fetched).toBeGreaterThanOrEqual(8);
    expect(snapshot.counters.fetched).toBeLessThan(60);
  });

  it('cancelled before it begins asks for nothing', async () => {
    const { site, world } = await open(wideSite(1));
    const { ending } = await world.crawl(`${site.origin}/`, { control: { cancelled: AbortSignal.abort() } });
    expect(ending.endReason).toBe('cancelled');
    expect(site.seen).toEqual([]);
  });

  it('too old ends time_limit', async () => {
    const { site, world } = await open(
      { '/': page('Home', ['/never']), '/never': () => {} },
      { limits: { crawlMs: 2_000, headersMs: 20_000 } },
    );
    const { ending, snapshot } = await world.crawl(`${site.origin}/`);
    expect(ending).toEqual({ endReason: 'time_limit', error: 'The crawl was not finished 2 seconds after its start.' });
    expect(snapshot.counters.fetched).toBe(1);
  });

  it('stopped while a site does not answer stops at once', async () => {
    const { site, world } = await open({ '/': () => {} }, { limits: { headersMs: 20_000, pageMs: 20_000 } });
    const stop = new AbortController();
    const running = world.crawl(`${site.origin}/`, { control: { signal: stop.signal } });
    await site.asked('/');
    const began = performance.now();
    stop.abort(new Error('the process stops'));
    await expect(running).rejects.toThrow('the process stops');
    expect(performance.now() - began).toBeLessThan(10_000); // the site would be waited for twice as long
  });

  it('stopped and claimed again goes on where it was: no page stored or charged twice', async () => {
    const deep = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`/p${index}`, after(5, page(`P${index}`, ['/', `/d${index}`]))]),
    );
    const { site, world } = await open({ ...wideSite(60), ...deep });
    let claim = await world.claim(`${site.origin}/`, { maxUrls: 1_000 });
    for (let round = 0; round < 4; round++) {
      const stop = new AbortController();
      const running = world.crawler(claim, controlOf({ signal: stop.signal }));
      await site.asked(`/p${10 + 12 * round}`);
      stop.abort(new Error('stopped'));
      await expect(running).rejects.toThrow('stopped');
      await world.store.release(claim.snapshot.id, claim.token);
      const again = await world.store.claim(randomUUID() as LeaseToken, 60_000);
      if (again === null) throw new Error('not claimable');
      expect(again.snapshot.counters.fetched).toBeGreaterThan(claim.snapshot.counters.fetched);
      claim = again;
    }
    const { ending, snapshot, pages, usage } = await world.run(claim);
    expect(ending.endReason).toBe('completed');
    expect(snapshot.counters).toEqual({ discovered: 121, fetched: 121, redirected: 0, failed: 0, blocked: 0 });
    expect(pages.map(({ seq }) => seq)).toEqual(Array.from({ length: 121 }, (_, seq) => seq));
    expect(new Set(pages.map(({ url }) => url)).size).toBe(121);
    for (const { url, depth } of pages) expect(depth).toBe(url.includes('/p') ? 1 : url.includes('/d') ? 2 : 0);
    expect(usage.used).toBe(121);
  });

  it('resumed after its start had failed ends as it would have', async () => {
    const { site, world } = await open({ '/robots.txt': answer(200, {}, 'User-agent: *\nDisallow: /') });
    const claim = await world.claim(`${site.origin}/`);
    const { ending } = await world.run(claim);
    await world.store.release(claim.snapshot.id, claim.token);
    const again = await world.store.claim(randomUUID() as LeaseToken, 60_000);
    if (again === null) throw new Error('not claimable');
    expect((await world.run(again)).ending).toEqual(ending);
    expect(site.paths()).toEqual([]);
  });

  it('taken away from its worker throws LeaseLost and stores nothing more', async () => {
    const { site, world } = await open(wideSite(60, 30));
    const claim = await world.claim(`${site.origin}/`);
    const running = world.crawler(claim, controlOf());
    await site.asked('/p10');
    await world.store.release(claim.snapshot.id, claim.token);
    await expect(running).rejects.toBeInstanceOf(LeaseLost);
    const stored = await world.store.getCrawl(world.tenant.organizationId, claim.snapshot.id);
    expect(stored?.counters.fetched).toBeLessThan(60);
  });
});

describe('the store', () => {
  it('that does not answer for a moment is waited for, and no page is stored twice', async () => {
    let calls = 0;
    const flaky = <T>(call: () => Promise<T>): Promise<T> => {
      if (++calls % 3 === 0) return Promise.reject(unavailable('not now'));
      // Every fifth answer is lost although the write was made.
      return calls % 5 === 0 ? call().then(() => Promise.reject(unavailable('the answer was lost'))) : call();
    };
    const wrap = (store: Store): Store => ({
      ...store,
      commitPages: (...args) => flaky(() => store.commitPages(...args)),
      grantQuota: (...args) => flaky(() => store.grantQuota(...args)),
      getRobots: (...args) => flaky(() => store.getRobots(...args)),
    });
    const { site, world } = await open(wideSite(250), { wrap, limits: { storeRetryMs: 5 } });
    const { ending, snapshot, usage } = await world.crawl(`${site.origin}/`, { maxUrls: 1_000 });
    expect(ending.endReason).toBe('completed');
    expect([snapshot.counters.fetched, usage.used]).toEqual([251, 251]);
    expect(calls).toBeGreaterThan(5);
  });

  it('that fails otherwise ends the run with that failure', async () => {
    const wrap = (store: Store): Store => ({ ...store, commitPages: () => Promise.reject(new Error('a defect')) });
    const { site, world } = await open(wideSite(5), { wrap });
    await expect(world.crawl(`${site.origin}/`)).rejects.toThrow('a defect');
  });
});

describe('several crawls at once', () => {
  it('share the rate of an origin', async () => {
    const { site, world } = await open({ ...wideSite(6), '/robots.txt': answer(200, {}, 'User-agent: *\nCrawl-delay: 0.1') });
    const claims = [await world.claim(`${site.origin}/`), await world.claim(`${site.origin}/?b`)];
    await Promise.all(claims.map((claim) => world.run(claim, { maxUrls: 7 })));
    const times = site.seen
      .filter(({ path }) => path !== '/robots.txt')
      .map(({ at }) => at)
      .sort();
    expect(times.length).toBe(14);
    // 13 delays, but for how late the first request may have come; each crawl for itself would take 6
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(900);
  });

  it('of different origins do not wait for each other', async () => {
    const slow = await open({ ...wideSite(10), '/robots.txt': answer(200, {}, 'User-agent: *\nCrawl-delay: 30') });
    const fast = await startSite(wideSite(30));
    opened.push(fast);
    const stop = new AbortController();
    const stuck = slow.world.crawler(await slow.world.claim(`${slow.site.origin}/`), controlOf({ signal: stop.signal }));
    expect((await slow.world.crawl(`${fast.origin}/`)).ending.endReason).toBe('completed');
    stop.abort(new Error('enough'));
    await expect(stuck).rejects.toThrow('enough');
  });
});

describe('the process', () => {
  it('is left as it was: no signal handler, no listener limit, no output, whatever CRAWLEE_ variables say', async () => {
    const variables = {
      CRAWLEE_LOG_LEVEL: 'DEBUG',
      CRAWLEE_MEMORY_MBYTES: '1',
      CRAWLEE_PERSIST_STORAGE: '1',
      CRAWLEE_PURGE_ON_START: '1',
      CRAWLEE_INTERNAL_TIMEOUT: '1',
    };
    Object.assign(process.env, variables);
    const output: unknown[] = [];
    const { console: out } = globalThis;
    const consoles = (['log', 'info', 'debug', 'warn', 'error'] as const).map((name) => ({ name, original: out[name] }));
    for (const { name } of consoles) out[name] = (...args: unknown[]) => void output.push(args);
    try {
      const listeners = process.listeners('SIGINT');
      const limit = EventEmitter.defaultMaxListeners;
      let during: unknown[] = [];
      const { site, world } = await open({
        '/': (_, response) => {
          during = process.listeners('SIGINT');
          response.writeHead(200, { 'content-type': 'text/html' }).end(page('Home', ['/a']));
        },
        '/a': inTurn(answer(500), page('A')),
      });
      const { ending } = await world.crawl(`${site.origin}/`);
      expect(ending.endReason).toBe('completed');
      expect(during).toEqual(listeners);
      expect(process.listeners('SIGINT')).toEqual(listeners);
      expect(EventEmitter.defaultMaxListeners).toBe(limit);
      expect(output).toEqual([]);
    } finally {
      for (const { name, original } of consoles) out[name] = original;
      for (const name of Object.keys(variables)) delete process.env[name];
    }
  });
});
