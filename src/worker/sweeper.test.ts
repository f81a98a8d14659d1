import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLocalBus } from '#bus/local.ts';
import { unavailable } from '#domain/errors.ts';
import { MAX_LOSSES, WORKER_LOST_ERROR } from '#domain/lease.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { answered, claimNext, type World, worldOf } from '#store/contract/world.ts';
import { silent, sqliteHarness } from '#store/sqlite/fixtures/harness.ts';
import { createLeadership } from '#store/sqlite/leadership.ts';
import { createSweeper, type SweeperDeps } from './sweeper.ts';
import { systemTimers } from './timers.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const retention = { crawlsMs: 90 * DAY_MS, idempotencyMs: DAY_MS };
const worlds: World[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const world of worlds.splice(0)) await world.close();
});
async function open(): Promise<World> {
  const world = worldOf(await sqliteHarness.open());
  worlds.push(world);
  return world;
}

const bus = createLocalBus({ log: silent });
const sweeperOf = (store: SweeperDeps['store'], id = 'alone', random = () => 0.5) =>
  createSweeper({ store, bus, id, settings: { retention }, timers: systemTimers, random, log: silent });

/** The steps of one that leads; those that are not given find nothing to do. */
const leading = (steps: Partial<SweeperDeps['store']>): SweeperDeps['store'] => ({
  acquireLeadership: async () => 0,
  reapLeases: async () => [],
  relayEvents: async () => 0,
  sweep: async () => 0,
  ...steps,
});

/** One round of everything. */
async function once(store: SweeperDeps['store']): Promise<void> {
  const begun: Promise<unknown>[] = [];
  const allBegun = Promise.withResolvers<void>();
  const seen =
    <Args extends unknown[], Answer>(step: (...args: Args) => Promise<Answer>) =>
    (...args: Args): Promise<Answer> => {
      const answer = step(...args);
      if (begun.push(answer) === 3) allBegun.resolve();
      return answer;
    };
  const { acquireLeadership, reapLeases, relayEvents, sweep } = store;
  const sweeper = sweeperOf({ acquireLeadership, reapLeases: seen(reapLeases), relayEvents: seen(relayEvents), sweep: seen(sweep) });
  sweeper.start();
  await allBegun.promise;
  await sweeper.stop();
}

describe('the sweeper', () => {
  it('takes expired leases away, so that the crawl can be claimed again', async () => {
    const world = await open();
    const { id } = await world.running();
    await once(world.store);
    expect(await world.store.claim(crypto.randomUUID() as never, 1_000)).toBeNull();
    await world.ageLeases(10 * 60_000);
    await once(world.store);
    expect((await claimNext(world.store)).snapshot.id).toBe(id);
  });

  it('publishes the crawls that it ends because their workers were lost', async () => {
    const world = await open();
    const { id } = await (await world.tenant()).start();
    const told: Snapshot[] = [];
    const stopListening = await bus.subscribe({ kind: 'crawl', id }, (snapshot) => told.push(snapshot));
    for (let losses = 0; losses < MAX_LOSSES; losses++) {
      expect(told).toEqual([]);
      await claimNext(world.store);
      await world.ageLeases(10 * 60_000);
      await once(world.store);
    }
    stopListening();
    expect(told).toMatchObject([{ id, state: 'failed', endReason: 'worker_lost', error: WORKER_LOST_ERROR }]);
  });

  it('brings events to the log of their organization', async () => {
    const world = await open();
    const run = await world.running();
    answered(await world.store.finish(run.id, run.token, { endReason: 'completed', error: null }, 0));
    await once(world.store);
    const events = await world.store.listEvents(run.tenant.organizationId, 0, 10);
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'crawl.started'],
      [2, 'crawl.done'],
    ]);
  });

  it('removes crawls that are older than the retention, and no others', async () => {
    const world = await open();
    const old = await world.running();
    answered(await world.store.finish(old.id, old.token, { endReason: 'completed', error: null }, 0));
    await world.ageRecords(91 * DAY_MS);
    const recent = await world.running();
    answered(await world.store.finish(recent.id, recent.token, { endReason: 'completed', error: null }, 0));
    await once(world.store);
    expect(await world.store.getCrawl(old.tenant.organizationId, old.id)).toBeNull();
    expect(await world.store.getCrawl(recent.tenant.organizationId, recent.id)).not.toBeNull();
  });

  it('sweeps in small steps with pauses while there is something to remove, and then once a minute', async () => {
    vi.useFakeTimers();
    const began = systemTimers.now();
    const times: number[] = [];
    const sweep = async () => {
      times.push(Math.round(systemTimers.now() - began));
      return times.length <= 2 ? 100 : 0;
    };
    const sweeper = sweeperOf(leading({ sweep }));
    sweeper.start();
    await vi.advanceTimersByTimeAsync(61_000);
    expect(times).toEqual([0, 100, 200, 60_200]);
    await sweeper.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('relays on at once while the outboxes are full, and each second otherwise', async () => {
    vi.useFakeTimers();
    const moved = [500, 500, 3, 0, 0];
    const relayEvents = vi.fn(async () => moved.shift() ?? 0);
    const sweeper = sweeperOf(leading({ relayEvents }));
    sweeper.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(relayEvents).toHaveBeenCalledTimes(3);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(relayEvents).toHaveBeenCalledTimes(5);
    await sweeper.stop();
  });

  it('goes on after an outage of the store, and one part that fails does not hold up the others', async () => {
    vi.useFakeTimers();
    const reapLeases = vi.fn<() => Promise<Snapshot[]>>().mockRejectedValueOnce(unavailable('away')).mockResolvedValue([]);
    const relayEvents = vi.fn(async () => 0);
    const sweeper = sweeperOf(leading({ reapLeases, relayEvents, sweep: () => Promise.reject(unavailable('away')) }));
    sweeper.start();
    await vi.advanceTimersByTimeAsync(3_300);
    expect(reapLeases).toHaveBeenCalledTimes(5);
    expect(relayEvents).toHaveBeenCalledTimes(4);
    await sweeper.stop();
  });

  // The term was counted from the question: it was over when the answer came, and no event was relayed for as long as the store was slow.
  it('leads also on a store that takes longer to answer than the term lasts', async () => {
    vi.useFakeTimers();
    const acquireLeadership = () => new Promise<number>((resolve) => systemTimers.after(2_000, () => resolve(0)));
    const relayEvents = vi.fn(async () => 0);
    const sweep = vi.fn(async () => 0);
    const sweeper = sweeperOf(leading({ acquireLeadership, relayEvents, sweep }));
    sweeper.start();
    await vi.advanceTimersByTimeAsync(9_000);
    expect(relayEvents.mock.calls.length).toBeGreaterThanOrEqual(3);
    expect(sweep).toHaveBeenCalled();
    const stopped = sweeper.stop();
    await vi.advanceTimersByTimeAsync(2_000);
    await stopped;
  });

  it('leaves the work to one of many, and when that one is gone to another, within a second of the end of its term', async () => {
    vi.useFakeTimers();
    const { acquireLeadership } = createLeadership(() => performance.now());
    const began = performance.now();
    const done: { id: number; step: string; at: number }[] = [];
    let asked = 0;
    const sweepers = Array.from({ length: 20 }, (_, id) => {
      const tell = (step: string): void => void done.push({ id, step, at: performance.now() - began });
      const steps: SweeperDeps['store'] = {
        async acquireLeadership(...args) {
          asked++;
          return acquireLeadership(...args);
        },
        async reapLeases() {
          tell('reap');
          return [];
        },
        async relayEvents() {
          tell('relay');
          return 0;
        },
        async sweep() {
          tell('sweep');
          return 0;
        },
      };
      return sweeperOf(steps, `${id}`, () => id / 20);
    });
    const doers = () => [...new Set(done.map(({ id }) => id))];
    for (const sweeper of sweepers) sweeper.start();
    await vi.advanceTimersByTimeAsync(10_400);
    const [leader = -1, ...others] = doers();
    expect(others).toEqual([]);
    const countOf = (wanted: string) => done.filter(({ step }) => step === wanted).length;
    expect([countOf('reap'), countOf('relay'), countOf('sweep')]).toEqual([11, 11, 1]);
    // each of the others asks about once a second
    expect(asked).toBeLessThan(20 * 12);

    const termEndsAt = 10_000 + 1_500;
    await sweepers[leader]?.stop();
    done.length = 0;
    await vi.advanceTimersByTimeAsync(2_100);
    expect(doers()).toHaveLength(1);
    for (const step of ['reap', 'relay', 'sweep']) {
      const at = done.find((each) => each.step === step)?.at;
      expect(at).toBeGreaterThanOrEqual(termEndsAt);
      expect(at).toBeLessThan(termEndsAt + 1_000);
    }
    await Promise.all(sweepers.map((sweeper) => sweeper.stop()));
  });

  it('stops once, however often it is asked to', async () => {
    const world = await open();
    const sweeper = sweeperOf(world.store);
    sweeper.start();
    const stopped = sweeper.stop();
    expect(sweeper.stop()).toBe(stopped);
    await stopped;
  });
});
