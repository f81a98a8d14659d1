import { afterEach, describe, expect, it } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import { LeaseLost } from '#domain/lease.ts';
import { answered, claimNext } from '#store/contract/world.ts';
import type { Claim, Store } from '#store/store.ts';
import { arrivals, COMPLETED, openWorkerWorld, type WorkerWorld } from './fixtures/worker-world.ts';
import { systemTimers, type Timers } from './timers.ts';

const worlds: WorkerWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function open(): Promise<WorkerWorld> {
  const world = await openWorkerWorld();
  worlds.push(world);
  return world;
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener('abort', () => resolve(signal.reason));
  });

/** Long enough that no heartbeat falls into a test. */
const LONG = { leaseMs: 600_000 };
const SHORT = { leaseMs: 1_500 };

/** The system's timers, and how many of them are set. */
function countedTimers(): Timers & { waiting(): number } {
  const waiting = new Set<() => void>();
  return {
    now: systemTimers.now,
    after(ms, callback) {
      const stop = systemTimers.after(ms, () => {
        waiting.delete(stop);
        callback();
      });
      waiting.add(stop);
      return () => {
        waiting.delete(stop);
        stop();
      };
    },
    waiting: () => waiting.size,
  };
}

/** The store's heartbeats, told of when they have been answered; with `held` none reaches the store before `letGo`. */
function heard({ held = false } = {}) {
  const beats = arrivals<Awaited<ReturnType<Store['heartbeat']>>>();
  const gate = Promise.withResolvers<void>();
  if (!held) gate.resolve();
  const wrap = (store: Store): Partial<Store> => ({
    async heartbeat(...args) {
      await gate.promise;
      const answer = await store.heartbeat(...args);
      beats.push(answer);
      return answer;
    },
  });
  return { beats, wrap, letGo: gate.resolve };
}

describe('the lease of a running crawl', () => {
  it('is kept by heartbeats, for longer than it lasts', async () => {
    const world = await open();
    const { beats, wrap } = heard();
    world.work({ settings: { leaseMs: 3_000 }, wrap });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    for (let count = 0; count < 4; count++) {
      expect(await beats.next()).toMatchObject({ cancelRequested: false });
      expect(await world.store.reapLeases()).toEqual([]);
    }
    expect(await world.store.claim(crawl.claim.token, 1_000)).toMatchObject({ token: crawl.claim.token }); // its own, still
    crawl.end(COMPLETED);
    expect(await world.ended(id)).toMatchObject({ state: 'done' });
  });

  it('that is lost ends the run with the next heartbeat, and the next worker has the crawl', async () => {
    const world = await open();
    const { beats, wrap, letGo } = heard({ held: true }); // one that came before the reaping would keep the lease
    world.work({ settings: { ...SHORT, crawls: 1 }, wrap });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    await world.ageLeases(60_000);
    await world.store.reapLeases();
    const next = await claimNext(world.store);
    letGo();
    expect(await beats.next()).toBe('lost');
    expect(await aborted(crawl.control.signal)).toBeInstanceOf(LeaseLost);
    expect(next).toMatchObject({ snapshot: { id, phase: 'fetching' }, batch: 1 });
    expect(answered(await world.store.finish(id, next.token, COMPLETED, 0))).toMatchObject({ state: 'done' });
  });

  it('is told of when it is lost, once, and not when the crawl is given back', async () => {
    const world = await open();
    const losses = arrivals<'lost'>();
    let count = 0;
    const onLeaseLost = () => {
      count++;
      losses.push('lost');
    };
    const { wrap, letGo } = heard({ held: true });
    const worker = world.work({ settings: { ...SHORT, crawls: 1 }, wrap, onLeaseLost });
    await world.begin(await world.tenant());
    await world.crawls.next();
    expect(worker.running()).toBe(1);
    await world.ageLeases(60_000);
    await world.store.reapLeases();
    await claimNext(world.store);
    letGo();
    await losses.next();
    await world.begin(await world.tenant());
    await world.crawls.next();
    await worker.stop();
    expect([count, worker.running()]).toEqual([1, 0]);
  });

  it('tells the crawler how many leases there are on its authority', async () => {
    const world = await open();
    const { beats, wrap } = heard();
    world.work({ settings: SHORT, wrap });
    const tenant = await world.tenant();
    await world.begin(tenant);
    const crawl = await world.crawls.next();
    expect(crawl.control.leasesOnAuthority()).toBe(1);
    await world.begin(tenant);
    await world.crawls.next();
    while (crawl.control.leasesOnAuthority() === 1) await beats.next();
    expect(crawl.control.leasesOnAuthority()).toBe(2);
  });
});

describe('a cancel', () => {
  async function cancel(world: WorkerWorld, { snapshot }: Claim): Promise<void> {
    world.tell(answered(await world.store.cancelCrawl(snapshot.organizationId, snapshot.id)));
  }

  it('reaches a running crawl by the bus, at once', async () => {
    const world = await open();
    world.work({ settings: LONG });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    await cancel(world, crawl.claim);
    expect(await world.ended(id)).toMatchObject({
      state: 'failed',
      endReason: 'cancelled',
      error: 'The crawl was cancelled.',
      findingsCount: 1,
    });
  });

  it('reaches it by the heartbeat when the bus says nothing', async () => {
    const world = await open();
    world.work({ settings: SHORT });
    const { id, organizationId } = await world.begin(await world.tenant());
    await world.crawls.next();
    await world.store.cancelCrawl(organizationId, id);
    expect(await world.ended(id)).toMatchObject({ endReason: 'cancelled', findingsCount: null });
  });

  it('that was asked for while no worker had the crawl ends it when the next one claims it', async () => {
    const world = await open();
    const run = await world.fetching();
    await world.store.cancelCrawl(run.tenant.organizationId, run.id);
    await world.store.release(run.id, run.token);
    world.work({ settings: LONG });
    expect(await world.ended(run.id)).toMatchObject({ endReason: 'cancelled' });
  });

  it('during the analysis changes nothing: the fetching has ended, and its ending stands', async () => {
    const world = await open();
    const analyses = arrivals<(count: number) => void>();
    world.work({ settings: LONG, analyze: () => new Promise((resolve) => analyses.push(resolve)) });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    crawl.end(COMPLETED);
    const endAnalysis = await analyses.next();
    await cancel(world, crawl.claim);
    endAnalysis(0);
    expect(await world.ended(id)).toMatchObject({ state: 'done', endReason: 'completed', findingsCount: 0 });
  });
});

describe('stop', () => {
  it('gives running crawls back, and another worker goes on where they were', async () => {
    const world = await open();
    const worker = world.work({ settings: LONG });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    await worker.stop();
    expect(crawl.control.signal.reason).not.toBeInstanceOf(LeaseLost);
    world.work({ settings: LONG });
    const resumed = await world.crawls.next();
    expect(resumed.claim).toMatchObject({ snapshot: { id, counters: { fetched: 1 } }, batch: 1, ending: null });
    resumed.end(COMPLETED);
    expect(await world.ended(id)).toMatchObject({ state: 'done', findingsCount: 1 });
  });

  it('gives a crawl back that is being analysed, and another worker analyses it', async () => {
    const world = await open();
    const begun = arrivals<void>();
    const analyze = (_: Claim, signal: AbortSignal) =>
      new Promise<number>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        begun.push();
      });
    const worker = world.work({ settings: LONG, analyze });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    crawl.end(COMPLETED);
    await begun.next();
    await worker.stop();
    world.work({ settings: LONG });
    expect(await world.ended(id)).toMatchObject({ state: 'done', findingsCount: 1 });
  });

  it('during a claim gives the claimed crawl back', async () => {
    const world = await open();
    const [asked, go] = [arrivals<void>(), arrivals<void>()];
    const claim = (store: Store) => ({
      claim: async (...args: Parameters<Store['claim']>) => {
        asked.push();
        await go.next();
        return store.claim(...args);
      },
    });
    const { id } = await (await world.tenant()).start();
    const worker = world.work({ settings: LONG, wrap: claim });
    await asked.next();
    const stopped = worker.stop();
    go.push();
    await stopped;
    expect((await claimNext(world.store)).snapshot.id).toBe(id);
  });

  it('claims nothing more', async () => {
    const world = await open();
    const worker = world.work({ settings: LONG });
    await worker.stop();
    worker.start();
    const { id } = await world.begin(await world.tenant());
    expect((await claimNext(world.store)).snapshot.id).toBe(id);
  });

  it('is memoised', async () => {
    const world = await open();
    const worker = world.work();
    const stopped = worker.stop();
    expect(worker.stop()).toBe(stopped);
    await stopped;
    expect(worker.stop()).toBe(stopped);
  });

  it('does not wait longer than it may for a crawl that does not end, and lets its lease expire', async () => {
    const world = await open();
    const begun = arrivals<void>();
    const timers = countedTimers();
    const runCrawl = () => new Promise<never>(() => begun.push());
    const worker = world.work({ settings: { ...LONG, stopMs: 50 }, runCrawl, timers });
    const { id } = await world.begin(await world.tenant());
    await begun.next();
    expect(timers.waiting()).toBeGreaterThan(0);
    await worker.stop();
    expect(timers.waiting()).toBe(0); // no heartbeat any more
    expect(world.logged.some(({ level, msg }) => level === 'error' && msg.startsWith('crawls did not stop in time'))).toBe(true);
    await world.ageLeases(LONG.leaseMs);
    expect(await world.store.reapLeases()).toEqual([]);
    expect((await claimNext(world.store)).snapshot.id).toBe(id);
  });
});

describe('an outage of the store', () => {
  const down = () => Promise.reject(unavailable('The store does not answer.'));

  /** The first `times` calls of a method are refused, and those after it reach the store. */
  const refusing = (times: number, method: 'claim' | 'beginAnalysis' | 'getSnapshots' | 'finish') => (store: Store) => {
    let left = times;
    const call = store[method] as (...args: unknown[]) => Promise<unknown>;
    return { [method]: (...args: unknown[]) => (left-- > 0 ? down() : call(...args)) };
  };

  it.each(['claim', 'getSnapshots', 'beginAnalysis', 'finish'] as const)(
    'that meets %s is survived, and the crawl ends as it should',
    async (method) => {
      const world = await open();
      world.work({ settings: LONG, wrap: refusing(2, method) });
      const { id } = await world.begin(await world.tenant());
      const crawl = await world.crawls.next();
      await crawl.commitPage();
      crawl.end(COMPLETED);
      expect(await world.ended(id)).toMatchObject({ state: 'done', findingsCount: 1 });
    },
  );

  it('that swallows the answer of a claim does not strand the crawl: it is claimed again under its token', async () => {
    const world = await open();
    const tokens: string[] = [];
    const swallowing = (store: Store): Partial<Store> => ({
      async claim(token, leaseMs) {
        const claim = await store.claim(token, leaseMs);
        tokens.push(token);
        return tokens.length === 1 ? down() : claim;
      },
    });
    const { id } = await (await world.tenant()).start();
    world.work({ settings: { ...LONG, crawls: 1 }, wrap: swallowing });
    const { claim } = await world.crawls.next();
    expect([claim.snapshot.id, claim.token]).toEqual([id, tokens[0]]);
  });

  it('that swallows the answer of the finish leaves the crawl finished once, and the worker goes on', async () => {
    const world = await open();
    let finishes = 0;
    const swallowing = (store: Store): Partial<Store> => ({
      async finish(...args) {
        const answer = await store.finish(...args);
        return finishes++ === 0 ? down() : answer;
      },
    });
    const tenant = await world.tenant();
    world.work({ settings: { ...LONG, crawls: 1 }, wrap: swallowing });
    const first = await world.begin(tenant);
    (await world.crawls.next()).end(COMPLETED);
    const second = await world.begin(tenant);
    (await world.crawls.next()).end(COMPLETED);
    expect(await world.ended(second.id)).toMatchObject({ state: 'done' });
    expect(await world.store.getCrawl(first.organizationId, first.id)).toMatchObject({ state: 'done', endReason: 'completed' });
  });

  it.each(['crawler', 'analysis'] as const)('that meets the %s gives the crawl back, and a later claim goes on with it', async (part) => {
    const world = await open();
    let analyses = 0;
    const analyze = () => (part === 'analysis' && analyses++ === 0 ? down() : Promise.resolve(0));
    world.work({ settings: LONG, analyze });
    const { id } = await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    await crawl.commitPage();
    if (part === 'crawler') {
      crawl.fail(unavailable('The store does not answer.'));
      const again = await world.crawls.next();
      expect(again.claim).toMatchObject({ snapshot: { id }, batch: 1 });
      again.end(COMPLETED);
    } else crawl.end(COMPLETED);
    expect(await world.ended(id)).toMatchObject({ state: 'done', findingsCount: 0 });
  });

  it('that lasts as long as the lease ends the run as lost', async () => {
    const world = await open();
    const worker = world.work({ settings: SHORT, wrap: () => ({ heartbeat: down }) });
    await world.begin(await world.tenant());
    const crawl = await world.crawls.next();
    expect(await aborted(crawl.control.signal)).toBeInstanceOf(LeaseLost);
    await worker.stop();
  });
});
