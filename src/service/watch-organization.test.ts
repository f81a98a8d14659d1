import { describe, expect, it } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import { createTenant, nextMoment } from '#store/contract/world.ts';
import { settled } from './fixtures/manual-timers.ts';
import { inWatchWorld, readAll } from './fixtures/watch-world.ts';

/** The store's clock goes on, whatever the timers show: what is to be past its overlap is aged. */
const LONG_AGO_MS = 60_000;

describe('watching an organization', () => {
  it(
    'tells of every crawl from now on, of nothing before, and of no other organization',
    inWatchWorld(async ({ hub, bus, store, caller, running, start }) => {
      const [before, running1] = [await running(), await running()];
      await running1.commit();
      await before.finish();
      const reading = readAll(await hub.watchOrganization(caller));
      const stranger = await start(await createTenant(store));
      const told = [await start(), await running1.commit(), await running1.finish()];
      for (const snapshot of [stranger, ...told]) await bus.publish(snapshot);
      await settled();
      expect(reading.given).toEqual(told);
      expect(reading.end).toBeNull();
    }),
  );

  // a thousand event streams of one key, which it may have, kept every other client waiting for minutes
  it(
    'leaves room for other work between its many watchers, who meanwhile get the latest alone',
    inWatchWorld(async ({ hub, bus, caller, running }) => {
      const crawl = await running();
      const readings = await Promise.all(Array.from({ length: 200 }, async () => readAll(await hub.watchOrganization(caller))));
      const given = () => readings.reduce((sum, reading) => sum + reading.given.length, 0);
      const told = [await crawl.commit(), await crawl.commit()];
      for (const snapshot of told) await bus.publish(snapshot);
      await new Promise((resolve) => setImmediate(resolve));
      expect(given()).toBeLessThanOrEqual(150);
      await settled();
      for (const reading of readings) expect(reading.given.at(-1)).toEqual(told[1]);
      expect(given()).toBe(250);
    }),
  );

  it(
    'tells each version once and none after a newer one, whatever the bus repeats or brings late',
    inWatchWorld(async ({ hub, bus, caller, running, timers, gap }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchOrganization(caller));
      const [one, two, last] = [await crawl.commit(), await crawl.commit(), await crawl.finish()];
      for (const snapshot of [two, one, two, last, one, last]) await bus.publish(snapshot);
      gap();
      await timers.advance(30_000);
      expect(reading.given).toEqual([two, last]);
    }),
  );

  it(
    'of which the bus has lost everything tells the crawls that changed, within 10 s, and the latest of each',
    inWatchWorld(async ({ hub, store, caller, running, start, timers }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchOrganization(caller));
      const started = await start();
      await nextMoment(store); // changes of one millisecond are told in any order
      const told = [started, await crawl.finish()];
      await timers.advance(9_900);
      expect(reading.given).toEqual([]);
      await timers.advance(200);
      expect(reading.given).toEqual(told);
      await timers.advance(60_000);
      expect(reading.given).toEqual(told);
    }),
  );

  it(
    'reads what has changed at once after a gap, and once more when another one comes meanwhile',
    inWatchWorld(async ({ hub, caller, start, gap, calls, faults, timers }) => {
      const reading = readAll(await hub.watchOrganization(caller));
      const held = Promise.withResolvers<void>();
      const { around } = faults;
      faults.around = async (_call, _args, go) => {
        const answer = await go();
        await held.promise;
        return answer;
      };
      calls.clear();
      const first = await start();
      gap();
      await settled();
      const second = await start();
      gap();
      faults.around = around;
      held.resolve();
      await timers.advance(1);
      expect(reading.given).toEqual([first, second]);
      expect(calls.get('listChanged')).toBe(2);
    }),
  );

  it(
    'reads on from where the last reading ended when the store did not answer for a while',
    inWatchWorld(async ({ hub, caller, start, timers, faults }) => {
      const reading = readAll(await hub.watchOrganization(caller));
      const { around } = faults;
      faults.around = () => Promise.reject(unavailable('cut off'));
      const started = await start();
      await timers.advance(60_000);
      expect(reading.given).toEqual([]);
      faults.around = around;
      await timers.advance(10_000);
      expect(reading.given).toEqual([started]);
    }),
  );

  it(
    'tells every crawl that changed, also when they are more than one reading brings',
    inWatchWorld(async ({ hub, caller, tenant, store, start, timers, calls }) => {
      const reading = readAll(await hub.watchOrganization(caller));
      const started = await Promise.all(Array.from({ length: 1_100 }, () => start()));
      for (const { id } of started.slice(0, 50)) await store.cancelCrawl(tenant.organizationId, id);
      calls.clear();
      await timers.advance(10_000);
      expect(new Set(reading.given.map(({ id }) => id))).toEqual(new Set(started.map(({ id }) => id)));
      expect(reading.given).toHaveLength(1_100);
      expect(calls.get('listChanged')).toBe(2);
    }),
    60_000,
  );

  it(
    'is shared by all its watchers, and ends with the last one',
    inWatchWorld(async ({ hub, bus, caller, start, subscriptions, calls, expectNothingLeft }) => {
      const watches = await Promise.all(Array.from({ length: 100 }, () => hub.watchOrganization(caller)));
      const readings = watches.map(readAll);
      expect([subscriptions(), calls.get('listChanged')]).toEqual([1, 1]);
      const started = await start();
      await bus.publish(started);
      await settled();
      for (const { given } of readings) expect(given).toEqual([started]);
      for (const watch of watches) await watch.return();
      expectNothingLeft();
    }),
  );

  it(
    'is refused while the store does not answer, and leaves nothing behind',
    inWatchWorld(async ({ hub, caller, faults, gap, expectNothingLeft }) => {
      const { around } = faults;
      faults.around = (call, _args, go) => (call === 'listChanged' ? Promise.reject(unavailable('cut off')) : go());
      const opening = Promise.allSettled([hub.watchOrganization(caller), hub.watchOrganization(caller)]);
      gap();
      expect((await opening).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expectNothingLeft();
      faults.around = around;
      await (await hub.watchOrganization(caller)).return();
      expectNothingLeft();
    }),
  );
});

const hasReadAt = (answer: unknown): answer is { readAt: number } => typeof answer === 'object' && answer !== null && 'readAt' in answer;

describe('a message that comes long after', () => {
  it(
    'of a crawl that has finished is not told',
    inWatchWorld(async ({ hub, bus, caller, running, timers, faults, calls }) => {
      const reading = readAll(await hub.watchOrganization(caller));
      const crawl = await running();
      const old = await crawl.commit();
      const last = await crawl.finish();
      await bus.publish(last);
      // a minute passes for the store: the crawl is not remembered any more
      faults.around = async (_call, _args, go) => {
        const answer = await go();
        return hasReadAt(answer) ? { ...answer, readAt: answer.readAt + LONG_AGO_MS } : answer;
      };
      await timers.advance(20_000);
      calls.clear();
      for (const late of [old, last]) await bus.publish(late);
      await timers.advance(20_000);
      expect(calls.get('getSnapshots')).toBe(1);
      expect(reading.given).toEqual([last]);
    }),
  );

  it(
    'of one that still runs is told as the store has it',
    inWatchWorld(async ({ hub, bus, caller, running, ageRecords, store, timers }) => {
      const crawl = await running();
      const old = await crawl.commit();
      const now = await crawl.commit();
      await ageRecords(LONG_AGO_MS);
      const age = { startedAt: old.startedAt - LONG_AGO_MS };
      await nextMoment(store);
      const reading = readAll(await hub.watchOrganization(caller));
      await bus.publish({ ...old, ...age });
      await timers.advance(1);
      expect(reading.given).toEqual([{ ...now, ...age }]);
    }),
  );
});
