import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { createAnalyze } from '#analysis/create-analyze.ts';
import { RULES } from '#analysis/registry.ts';
import { createLocalBus } from '#bus/local.ts';
import type { LeaseToken } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import { answered, claimNext, nextMoment } from '#store/contract/world.ts';
import { createLog } from '#telemetry.ts';
import { openCrawlWorld } from '../../test/fixtures/crawl-world.ts';
import { soundPage, startSite } from '../../test/fixtures/site.ts';
import { arrivals, COMPLETED, openWorkerWorld, type WorkerWorld } from './fixtures/worker-world.ts';
import { systemTimers } from './timers.ts';
import { createWorker } from './worker.ts';

const worlds: WorkerWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function open(): Promise<WorkerWorld> {
  const world = await openWorkerWorld();
  worlds.push(world);
  return world;
}

describe('a worker', () => {
  it('runs a crawl that it is told of, analyses it, finishes it and publishes each change', async () => {
    const world = await open();
    const tenant = await world.tenant();
    world.work();
    const { id } = await world.begin(tenant);
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    crawl.end(COMPLETED);
    const final = await world.ended(id);
    expect(final).toMatchObject({ state: 'done', phase: 'finished', endReason: 'completed', findingsCount: 1 });
    expect(await world.store.getCrawl(tenant.organizationId, id)).toEqual(final);
    expect(await world.store.listFindings(tenant.organizationId, id, { limit: 10 })).toMatchObject([{ rule: 'title.missing' }]);
    expect(world.published.map(({ phase }) => phase)).toEqual(['queued', 'analyzing', 'finished']);
  });

  it('finds a crawl that nobody told it of', async () => {
    const world = await open();
    const tenant = await world.tenant();
    world.work();
    const { id } = await tenant.start();
    expect((await world.crawls.next()).claim.snapshot.id).toBe(id);
  });

  it('asks for a crawl that it hears of a while later than others do', async () => {
    const world = await open();
    const tenant = await world.tenant();
    const asked = arrivals<void>();
    const waits: number[] = [];
    world.work({
      settings: { wakeSpreadMs: 300 },
      random: () => 0.5,
      timers: {
        ...systemTimers,
        after(ms, callback) {
          waits.push(ms);
          return systemTimers.after(ms, callback);
        },
      },
      wrap: (store) => ({ claim: (...claim) => store.claim(...claim).finally(() => asked.push()) }),
    });
    await asked.next();
    const { id } = await world.begin(tenant);
    expect((await world.crawls.next()).claim.snapshot.id).toBe(id);
    expect(waits).toContain(150);
  });

  it('runs as many crawls at once as it is set to, and the next one when one has ended', async () => {
    const world = await open();
    const tenant = await world.tenant();
    const started: Snapshot[] = [];
    while (started.length < 4) {
      started.push(await tenant.start());
      await nextMoment(world.store); // those of one millisecond are taken in any order
    }
    world.work({ settings: { crawls: 3 } });
    const running = [await world.crawls.next(), await world.crawls.next(), await world.crawls.next()];
    expect(running.map(({ claim }) => claim.snapshot.id)).toEqual(started.slice(0, 3).map(({ id }) => id));
    const fourth = world.crawls.next();
    expect((await claimNext(world.store)).snapshot.id).toBe(started[3]?.id); // still there to claim: the worker left it
    const fifth = await world.begin(tenant);
    running[1]?.end(COMPLETED);
    expect((await fourth).claim.snapshot.id).toBe(fifth.id);
  });

  it('is fair: a crawl of another organization does not wait behind a long queue', async () => {
    const world = await open();
    const [busy, quiet] = [await world.tenant(), await world.tenant()];
    const first = await busy.start();
    await nextMoment(world.store); // those of one millisecond are taken in any order
    for (let count = 0; count < 4; count++) await busy.start();
    const late = await quiet.start();
    world.work({ settings: { crawls: 2 } });
    const running = [await world.crawls.next(), await world.crawls.next()];
    expect(running.map(({ claim }) => claim.snapshot.id)).toEqual([first.id, late.id]);
  });

  // four crawls of a slow site kept the crawl of another organization waiting for six hours
  it('gives one of an organization’s crawls back for another one that waits, and resumes it when there is room', async () => {
    const world = await open();
    const [busy, quiet] = [await world.tenant(), await world.tenant()];
    world.work({ settings: { crawls: 2, turnMs: 0 } });
    const started: string[] = [];
    for (let count = 0; count < 2; count++) started.push((await world.begin(busy)).id);
    const [first, second] = [await world.crawls.next(), await world.crawls.next()];
    await world.begin(busy); // waits, and takes nobody's turn
    const late = await world.begin(quiet);
    const third = await world.crawls.next();
    expect(third.claim.snapshot.id).toBe(late.id);
    const [given, kept] = first.control.signal.aborted ? [first, second] : [second, first];
    expect([given.control.signal.reason.message, kept.control.signal.aborted]).toEqual(['Another organization waits for its turn.', false]);
    third.end(COMPLETED);
    const fourth = await world.crawls.next();
    expect(started).toContain(fourth.claim.snapshot.id);
    expect([fourth.claim.snapshot.id, kept.control.signal.aborted]).toEqual([given.claim.snapshot.id, false]);
  });

  it('gives no crawl back that is being analysed', async () => {
    const world = await open();
    const [busy, quiet] = [await world.tenant(), await world.tenant()];
    const analysed = arrivals<AbortSignal>();
    world.work({
      settings: { crawls: 3, turnMs: 0 },
      analyze: (_, signal) =>
        new Promise((_, fail) => {
          signal.addEventListener('abort', () => fail(signal.reason));
          analysed.push(signal);
        }),
    });
    for (let count = 0; count < 3; count++) await world.begin(busy);
    const running = [await world.crawls.next(), await world.crawls.next(), await world.crawls.next()];
    for (const crawl of running.slice(0, 2)) {
      await crawl.commitPage();
      crawl.end(COMPLETED);
    }
    const analyses = [await analysed.next(), await analysed.next()];
    await world.begin(quiet);
    await world.crawls.next();
    expect([running[2]?.control.signal.aborted, ...analyses.map(({ aborted }) => aborted)]).toEqual([true, false, false]);
  });

  it('gives no crawl back before its turn is over', async () => {
    const world = await open();
    const [busy, quiet] = [await world.tenant(), await world.tenant()];
    let passed = 0;
    const looks = arrivals<number>();
    world.work({
      settings: { crawls: 2, turnMs: 60_000 },
      timers: { ...systemTimers, now: () => systemTimers.now() + passed },
      wrap: (store) => ({
        whoYields(...among) {
          looks.push(passed);
          return store.whoYields(...among);
        },
      }),
    });
    for (let count = 0; count < 2; count++) await world.begin(busy);
    const running = [await world.crawls.next(), await world.crawls.next()];
    passed = 30_000;
    const late = await world.begin(quiet);
    const third = world.crawls.next();
    await new Promise((resolve) => systemTimers.after(1_500, () => resolve(null))); // more than one poll
    expect(running.map(({ control }) => control.signal.aborted)).toEqual([false, false]);
    passed = 61_000;
    expect((await third).claim.snapshot.id).toBe(late.id);
    expect(await looks.next()).toBe(61_000);
  });

  it('goes straight to the analysis of a crawl whose fetching had ended, and keeps that ending', async () => {
    const world = await open();
    const run = await world.fetching();
    const ending = { endReason: 'time_limit', error: 'The crawl took longer than 6 hours.' } as const;
    answered(await world.store.beginAnalysis(run.id, run.token, ending));
    await world.store.release(run.id, run.token);
    const neverCrawls = () => Promise.reject(new Error('the crawler was asked'));
    world.work({ runCrawl: neverCrawls });
    expect(await world.ended(run.id)).toMatchObject({ state: 'failed', ...ending, findingsCount: 0 });
  });

  it('analyses a failed crawl that fetched pages, and not one without', async () => {
    const world = await open();
    const tenant = await world.tenant();
    world.work();
    const [withPages, without] = [await world.begin(tenant), await world.begin(tenant)];
    const [one, other] = [await world.crawls.next(), await world.crawls.next()];
    await one.commitPage();
    one.end({ endReason: 'quota_exhausted', error: 'The quota was used up.' });
    other.end({ endReason: 'seed_unreachable', error: 'Could not connect to example.com.' });
    expect(await world.ended(withPages.id)).toMatchObject({ endReason: 'quota_exhausted', findingsCount: 1 });
    expect(await world.ended(without.id)).toMatchObject({ endReason: 'seed_unreachable', findingsCount: null });
  });
});

describe('a worker with the real crawler', () => {
  it('takes a site from queued to done, with its findings', async () => {
    const site = await startSite({
      '/': soundPage('Home', ['/shop', '/gone', '/twin', '/nameless']),
      '/shop': soundPage('Shop', ['/gone']),
      '/twin': soundPage('Shop', [], 'Another shop.'),
      '/nameless': soundPage(''),
    });
    const world = await openCrawlWorld();
    const log = createLog('silent', { write() {} });
    const ended = arrivals<Snapshot>();
    const { store, crawler, tenant } = world;
    const worker = createWorker({
      store,
      bus: createLocalBus({ log }),
      runCrawl: crawler,
      analyze: createAnalyze({ store, rules: RULES }),
      publish: (snapshot) => isFinal(snapshot) && ended.push(snapshot),
      newToken: () => randomUUID() as LeaseToken,
      settings: { crawls: 1, leaseMs: 30_000, turnMs: 60_000, wakeSpreadMs: 0, stopMs: 5_000 },
      timers: systemTimers,
      random: Math.random,
      log,
    });
    try {
      const { hostname, host } = new URL(site.origin);
      const { id, organizationId } = await tenant.start({ url: `${site.origin}/`, host: hostname, authority: host });
      worker.start();
      expect(await ended.next()).toMatchObject({ id, state: 'done', counters: { fetched: 5 }, findingsCount: 4 });
      const findings = answered(await store.listFindings(organizationId, id, { limit: 100 }));
      expect(findings.map(({ rule, url }) => [rule, url && new URL(url).pathname]).sort()).toEqual([
        ['http.client_error', '/gone'],
        ['link.broken_internal', '/gone'],
        ['title.duplicate', null],
        ['title.missing', '/nameless'],
      ]);
    } finally {
      await worker.stop();
      await world.close();
      await site.close();
    }
  });
});

describe('a defect', () => {
  const GENERIC = /^Something went wrong inside crawlgate/;

  it('of the crawler ends the crawl internal_error, told in general and logged with crawl and stack', async () => {
    const world = await open();
    const tenant = await world.tenant();
    world.work();
    const { id } = await world.begin(tenant);
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    crawl.fail(new TypeError('secret 10.0.0.7 is not a function'));
    const final = await world.ended(id);
    expect(final).toMatchObject({ state: 'failed', endReason: 'internal_error', findingsCount: null });
    expect(final.error).toMatch(GENERIC);
    const line = world.logged.find(({ level }) => level === 'error');
    expect(line?.crawlId).toBe(id);
    expect(line?.err?.stack).toContain('TypeError: secret 10.0.0.7 is not a function\n    at ');
  });

  it('of the analysis ends the crawl internal_error without findings, and the worker goes on', async () => {
    const world = await open();
    const tenant = await world.tenant();
    let analyses = 0;
    const analyze = async () => {
      if (analyses++ === 0) throw new RangeError('a rule failed');
      return 0;
    };
    world.work({ analyze, settings: { crawls: 1 } });
    const { id } = await world.begin(tenant);
    (await world.crawls.next()).end(COMPLETED);
    expect(await world.ended(id)).toMatchObject({ endReason: 'internal_error', findingsCount: null });
    const second = await world.begin(tenant);
    (await world.crawls.next()).end(COMPLETED);
    expect(await world.ended(second.id)).toMatchObject({ endReason: 'completed', findingsCount: 0 });
  });
});
