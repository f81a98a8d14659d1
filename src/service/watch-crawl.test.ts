import { describe, expect, it, onTestFinished } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import { isFinal } from '#domain/snapshot.ts';
import { createTenant } from '#store/contract/world.ts';
import { settled } from './fixtures/manual-timers.ts';
import { inWatchWorld, openWatchWorld, readAll } from './fixtures/watch-world.ts';

const refusedWith = (code: string) => expect.objectContaining({ code });

describe('watching a crawl', () => {
  it(
    'gives the stored snapshot at once, then what is published, the final one last, and ends',
    inWatchWorld(async ({ hub, bus, caller, running, timers, expectNothingLeft }) => {
      const crawl = await running();
      const first = await crawl.commit();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await settled();
      expect(reading.given).toEqual([first]);
      await timers.advance(200);
      const second = await crawl.commit();
      await bus.publish(second);
      await settled();
      const last = await crawl.finish();
      await bus.publish(last);
      await settled();
      expect(reading).toMatchObject({ given: [first, second, last], end: { kind: 'final' }, error: null });
      expectNothingLeft();
    }),
  );

  it(
    'that is final gives one snapshot and ends',
    inWatchWorld(async ({ hub, caller, running, expectNothingLeft }) => {
      const crawl = await running();
      const last = await crawl.finish();
      const watch = await hub.watchCrawl(crawl.id.toUpperCase(), caller);
      expect(await watch.next()).toEqual({ done: false, value: last });
      expect(await watch.next()).toEqual({ done: true, value: undefined });
      expectNothingLeft();
    }),
  );

  it(
    'that does not exist, is another organization’s or has no UUID is refused as not found',
    inWatchWorld(async ({ hub, store, caller, start, newCaller, expectNothingLeft }) => {
      const { id } = await start();
      const stranger = await newCaller(await createTenant(store));
      await expect(hub.watchCrawl(crypto.randomUUID(), caller)).rejects.toThrow(refusedWith('not_found'));
      await expect(hub.watchCrawl(id, stranger)).rejects.toThrow(refusedWith('not_found'));
      await expect(hub.watchCrawl('1', caller)).rejects.toThrow(refusedWith('not_found'));
      expectNothingLeft();
    }),
  );

  it(
    'does not let a stranger in where others watch, nor tells the others',
    inWatchWorld(async ({ hub, store, caller, start, newCaller, subscriptions }) => {
      const { id } = await start();
      const reading = readAll(await hub.watchCrawl(id, caller));
      await expect(hub.watchCrawl(id, await newCaller(await createTenant(store)))).rejects.toThrow(refusedWith('not_found'));
      expect(reading.end).toBeNull();
      expect(subscriptions()).toBe(1);
    }),
  );

  it(
    'needs the scope crawls:read',
    inWatchWorld(async ({ hub, tenant, start, newCaller }) => {
      const { id } = await start();
      const writer = await newCaller(tenant, ['crawls:write']);
      await expect(hub.watchCrawl(id, writer)).rejects.toThrow(refusedWith('insufficient_scope'));
      await expect(hub.watchOrganization(writer)).rejects.toThrow(refusedWith('insufficient_scope'));
    }),
  );

  it(
    'ends a pending next at once when it is left, and then waits for nothing',
    inWatchWorld(async ({ hub, caller, start, expectNothingLeft }) => {
      const watch = await hub.watchCrawl((await start()).id, caller);
      await watch.next();
      const pending = watch.next();
      expect(await watch.return()).toEqual({ done: true, value: undefined });
      expect(await pending).toEqual({ done: true, value: undefined });
      expect(await watch.next()).toEqual({ done: true, value: undefined });
      expectNothingLeft();
    }),
  );

  it(
    'is at most 5 snapshots a second, the latest ones, while a final one waits for nothing',
    inWatchWorld(async ({ hub, bus, caller, running, timers }) => {
      const crawl = await running();
      await crawl.commit();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      for (let at = 0; at < 3_000; at += 50) {
        await bus.publish(await crawl.commit());
        await timers.advance(50);
      }
      expect(reading.given).toHaveLength(17); // the stored one, one at once, and one each 200 ms of three seconds
      const last = await crawl.finish();
      await bus.publish(last);
      await settled();
      expect(reading.given.at(-1)).toEqual(last);
      expect(reading.end).toEqual({ kind: 'final' });
    }),
  );

  it(
    'is given at once what comes each 200 ms, out of step with the stored one that came first',
    inWatchWorld(async ({ hub, bus, caller, running, timers }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await timers.advance(60);
      for (let count = 2; count < 20; count++) {
        await bus.publish(await crawl.commit());
        await settled();
        expect(reading.given).toHaveLength(count);
        await timers.advance(200);
      }
    }),
  );

  it(
    'skips what is old, comes twice or comes late',
    inWatchWorld(async ({ hub, bus, caller, running, timers }) => {
      const crawl = await running();
      const [one, two, three] = [await crawl.commit(), await crawl.commit(), await crawl.commit()];
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      for (const snapshot of [one, three, two, three]) {
        await bus.publish(snapshot);
        await timers.advance(1_000);
      }
      expect(reading.given).toEqual([three]);
    }),
  );

  it(
    'that was deleted meanwhile is refused as not found',
    inWatchWorld(async ({ hub, store, tenant, caller, running, timers, expectNothingLeft }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await crawl.finish();
      await store.deleteCrawl(tenant.organizationId, crawl.id);
      await timers.advance(11_000);
      expect(reading).toMatchObject({ end: { kind: 'refused' }, error: { code: 'not_found' } });
      expectNothingLeft();
    }),
  );
});

describe('watching on from a version', () => {
  it(
    'leaves out what the watcher has, and gives what is newer',
    inWatchWorld(async ({ hub, bus, caller, running, timers }) => {
      const crawl = await running();
      const { version } = await crawl.commit();
      const ahead = readAll(await hub.watchCrawl(crawl.id, caller, { afterVersion: version }));
      const behind = readAll(await hub.watchCrawl(crawl.id, caller, { afterVersion: version - 1 }));
      await timers.advance(200);
      const next = await crawl.commit();
      await bus.publish(next);
      await timers.advance(200);
      expect([ahead.versions, behind.versions]).toEqual([[next.version], [version, next.version]]);
    }),
  );

  it(
    'ends without a snapshot when the final one is known',
    inWatchWorld(async ({ hub, caller, running, expectNothingLeft }) => {
      const crawl = await running();
      const { version } = await crawl.finish();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller, { afterVersion: version }));
      await settled();
      expect(reading).toMatchObject({ given: [], end: { kind: 'final' } });
      expectNothingLeft();
    }),
  );

  it(
    'that the crawl never had begins from the stored one',
    inWatchWorld(async ({ hub, caller, running }) => {
      const crawl = await running();
      const stored = await crawl.commit();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller, { afterVersion: 1_000_000 }));
      await settled();
      expect(reading.given).toEqual([stored]);
    }),
  );
});

describe('many watchers', () => {
  it(
    'of one crawl share its subscription and the read of its snapshot, and get the same',
    inWatchWorld(async ({ hub, bus, caller, running, calls, subscriptions, expectNothingLeft }) => {
      const crawl = await running();
      const watches = await Promise.all(Array.from({ length: 500 }, () => hub.watchCrawl(crawl.id, caller)));
      const readings = watches.map(readAll);
      await settled();
      expect(subscriptions()).toBe(1);
      expect(calls.get('getSnapshots')).toBeLessThanOrEqual(2);
      const last = await crawl.finish();
      await bus.publish(last);
      await settled();
      for (const { given, end } of readings) expect([given.at(-1), given.length, end?.kind]).toEqual([last, 2, 'final']);
      expectNothingLeft();
    }),
  );

  it(
    'leave one by one, and the last one ends the subscription',
    inWatchWorld(async ({ hub, caller, start, subscriptions, expectNothingLeft }) => {
      const { id } = await start();
      const [one, two] = [await hub.watchCrawl(id, caller), await hub.watchCrawl(id, caller)];
      await one.return();
      expect(subscriptions()).toBe(1);
      await two.return();
      expectNothingLeft();
    }),
  );
});

describe('a bus that loses everything', () => {
  it(
    'delays the final snapshot until the crawl is read again, 10 s after it was last heard of',
    inWatchWorld(async ({ hub, caller, running, timers, calls, expectNothingLeft }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await timers.advance(5_000);
      const last = await crawl.finish();
      await timers.advance(4_500);
      expect([reading.given.length, calls.get('getVersions')]).toEqual([1, undefined]);
      await timers.advance(1_500);
      expect(reading.given.at(-1)).toEqual(last);
      expect(reading.end).toEqual({ kind: 'final' });
      expectNothingLeft();
    }),
  );

  it(
    'costs one query for all watched crawls together, and one more for all that have changed',
    inWatchWorld(async ({ hub, caller, store, tenant, start, timers, calls }) => {
      const crawls = await Promise.all(Array.from({ length: 50 }, () => start()));
      const readings = (await Promise.all(crawls.map(({ id }) => hub.watchCrawl(id, caller)))).map(readAll);
      calls.clear();
      await timers.advance(10_500);
      expect([calls.get('getVersions'), calls.get('getSnapshots')]).toEqual([1, undefined]);
      for (const { id } of crawls) await store.cancelCrawl(tenant.organizationId, id);
      await timers.advance(10_500);
      expect([calls.get('getVersions'), calls.get('getSnapshots')]).toEqual([2, 1]);
      for (const { given } of readings) expect(given.map(isFinal)).toEqual([false, true]);
    }),
  );

  it(
    'is made up for however many crawls are watched: those that changed are told, those that were deleted end, the others go on',
    inWatchWorld(async ({ hub, caller, store, tenant, start, timers, faults }) => {
      const crawls = await Promise.all(Array.from({ length: 600 }, () => start()));
      const readings = (await Promise.all(crawls.map(({ id }) => hub.watchCrawl(id, caller)))).map(readAll);
      const asked: number[] = [];
      faults.around = (call, [about], go) => {
        if (call === 'getVersions' && asked.push((about as unknown[]).length) === 1) return Promise.reject(unavailable('cut off'));
        return go();
      };
      for (const [at, { id }] of crawls.entries()) {
        if (at % 3 > 0) await store.cancelCrawl(tenant.organizationId, id);
        if (at % 3 > 1) await store.deleteCrawl(tenant.organizationId, id);
      }
      await timers.advance(10_500);
      expect(asked).toEqual([250]); // the store is away: the others need not be asked for
      await timers.advance(1_000);
      expect(asked).toEqual([250, 250, 250, 100]);
      const ends = readings.map(({ end }) => end?.kind);
      expect(ends).toEqual(crawls.map((_, at) => [undefined, 'final', 'refused'][at % 3]));
    }),
  );

  it(
    'and a crawl that changes again between the two reads is told as it is then',
    inWatchWorld(async ({ hub, caller, running, timers, faults, expectNothingLeft }) => {
      const crawl = await running();
      const watch = await hub.watchCrawl(crawl.id, caller);
      const reading = readAll(watch);
      const ended = new Promise((resolve) => watch.onEnd(resolve));
      await crawl.commit();
      const { around } = faults;
      faults.around = async (call, _args, go) => {
        const answer = await go();
        if (call === 'getVersions') await crawl.finish();
        return answer;
      };
      await timers.advance(11_000);
      await ended;
      faults.around = around;
      expect(reading.given.map(isFinal)).toEqual([false, true]);
      expect(reading.end).toEqual({ kind: 'final' });
      expectNothingLeft();
    }),
  );

  it(
    'and a crawl that is deleted between the two reads ends its watchers',
    inWatchWorld(async ({ hub, caller, store, tenant, running, timers, faults, expectNothingLeft }) => {
      const crawl = await running();
      const watch = await hub.watchCrawl(crawl.id, caller);
      const reading = readAll(watch);
      const ended = new Promise((resolve) => watch.onEnd(resolve));
      await crawl.finish();
      const { around } = faults;
      faults.around = async (call, _args, go) => {
        const answer = await go();
        if (call === 'getVersions') await store.deleteCrawl(tenant.organizationId, crawl.id);
        return answer;
      };
      await timers.advance(11_000);
      await ended;
      faults.around = around;
      expect(reading).toMatchObject({ end: { kind: 'refused' }, error: { code: 'not_found' } });
      expectNothingLeft();
    }),
  );

  it.each(['getVersions', 'getSnapshots'] as const)('is made up for a second later when %s was not answered', (method) =>
    inWatchWorld(async ({ hub, caller, running, timers, faults }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await crawl.finish();
      const { around } = faults;
      faults.around = (call, _args, go) => (call === method ? Promise.reject(unavailable('cut off')) : go());
      await timers.advance(11_000);
      expect(reading.end).toBeNull();
      faults.around = around;
      await timers.advance(1_000);
      expect(reading.end).toEqual({ kind: 'final' });
    })(),
  );

  it(
    'is not hidden by messages that come again',
    inWatchWorld(async ({ hub, bus, caller, running, timers }) => {
      const crawl = await running();
      const old = await crawl.commit();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await crawl.finish();
      for (let second = 0; second < 11; second++) {
        await bus.publish(old);
        await timers.advance(1_000);
      }
      expect(reading.end).toEqual({ kind: 'final' });
    }),
  );

  it(
    'and says so has everything read at once',
    inWatchWorld(async ({ hub, caller, running, gap }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await crawl.finish();
      gap();
      await settled();
      expect(reading.end).toEqual({ kind: 'final' });
    }),
  );

  it(
    'and a store that does not answer are got over as soon as it does',
    inWatchWorld(async ({ hub, caller, running, faults, timers, calls }) => {
      const crawl = await running();
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      await crawl.finish();
      const { around } = faults;
      faults.around = () => Promise.reject(unavailable('cut off'));
      await timers.advance(15_000);
      expect(reading.end).toBeNull();
      expect(calls.get('getVersions')).toBeGreaterThan(3);
      faults.around = around;
      await timers.advance(1_000);
      expect(reading.end).toEqual({ kind: 'final' });
    }),
  );
});

describe('a bus that cannot be subscribed to', () => {
  it.each([
    ['refuses', () => Promise.reject(new Error('the bus is away'))],
    ['does not answer', () => new Promise<never>(() => {})],
  ])('and %s leaves the watch to the store', async (_, subscribe) => {
    const world = await openWatchWorld();
    onTestFinished(world.close);
    const { hub, caller, running, timers, faults } = world;
    const crawl = await running();
    faults.around = (call, _args, go) => (call === 'subscribe' ? subscribe() : go());
    const opening = hub.watchCrawl(crawl.id, caller);
    await timers.advance(1_000);
    const reading = readAll(await opening);
    await settled();
    expect(reading.given).toHaveLength(1);
    await crawl.finish();
    await timers.advance(11_000);
    expect(reading.end).toEqual({ kind: 'final' });
    world.expectNothingLeft();
  });

  it(
    'is asked again each second',
    inWatchWorld(async ({ hub, bus, caller, running, timers, faults, subscriptions }) => {
      const crawl = await running();
      const { around } = faults;
      faults.around = (call, _args, go) => (call === 'subscribe' ? Promise.reject(new Error('away')) : go());
      const reading = readAll(await hub.watchCrawl(crawl.id, caller));
      faults.around = around;
      await timers.advance(1_000);
      expect(subscriptions()).toBe(1);
      await bus.publish(await crawl.commit());
      await settled();
      expect(reading.given).toHaveLength(2);
    }),
  );

  it(
    'and lets go of a subscription that comes when nobody watches any more',
    inWatchWorld(async ({ hub, caller, running, timers, faults, expectNothingLeft }) => {
      const crawl = await running();
      const late = Promise.withResolvers<void>();
      faults.around = (call, _args, go) => (call === 'subscribe' ? late.promise.then(go) : go());
      const opening = hub.watchCrawl(crawl.id, caller);
      await timers.advance(1_000);
      await (await opening).return();
      late.resolve();
      await settled();
      expectNothingLeft();
    }),
  );
});

describe('stop', () => {
  it(
    'ends every watch with the advice to watch again, and leaves nothing behind',
    inWatchWorld(async ({ hub, caller, start, expectNothingLeft }) => {
      const { id } = await start();
      const pulled = await hub.watchCrawl(id, caller);
      await pulled.next();
      const pending = pulled.next();
      const idle = await hub.watchOrganization(caller);
      const opening = hub.watchCrawl(id, caller);
      hub.stop();
      await expect(pending).rejects.toThrow(refusedWith('unavailable'));
      await expect(idle.next()).rejects.toThrow(refusedWith('unavailable'));
      expect(await idle.next()).toEqual({ done: true, value: undefined });
      await expect((await opening).next()).rejects.toThrow(refusedWith('unavailable'));
      await expect(hub.watchCrawl(id, caller)).rejects.toThrow(refusedWith('unavailable'));
      await expect(hub.watchOrganization(caller)).rejects.toThrow(refusedWith('unavailable'));
      hub.followKey(caller, () => {});
      expectNothingLeft();
    }),
  );
});
