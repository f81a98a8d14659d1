import { describe, expect, it } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import { hashOf } from '#store/contract/world.ts';
import { settled } from './fixtures/manual-timers.ts';
import { inWatchWorld, readAll } from './fixtures/watch-world.ts';

const refusal = (code: string) => ({ end: { kind: 'refused', refusal: { code } }, error: { code } });

describe('a key', () => {
  it(
    'that is revoked loses its watches within 5 s, and another one keeps its own',
    inWatchWorld(async ({ hub, store, caller, newCaller, start, timers }) => {
      const { id } = await start();
      const other = await newCaller();
      const lost = [readAll(await hub.watchCrawl(id, caller)), readAll(await hub.watchOrganization(caller))];
      const kept = [readAll(await hub.watchCrawl(id, other)), readAll(await hub.watchOrganization(other))];
      await store.revokeKey(caller.keyId);
      await timers.advance(5_000);
      for (const reading of lost) expect(reading).toMatchObject(refusal('unauthorized'));
      for (const reading of kept) expect(reading.end).toBeNull();
    }),
  );

  it(
    'that is revoked loses also a watch that nobody pulls, and what waits in it',
    inWatchWorld(async ({ hub, store, caller, start, timers, expectNothingLeft }) => {
      const watch = await hub.watchCrawl((await start()).id, caller);
      let ended = false;
      watch.onEnd(() => {
        ended = true;
      });
      await store.revokeKey(caller.keyId);
      await timers.advance(5_000);
      expect(ended).toBe(true);
      await expect(watch.next()).rejects.toMatchObject({ code: 'unauthorized' });
      expectNothingLeft();
    }),
  );

  it(
    'whose secret was replaced loses the watches that the old one opened',
    inWatchWorld(async ({ hub, store, caller, start, timers }) => {
      const reading = readAll(await hub.watchCrawl((await start()).id, caller));
      const secretHash = hashOf('another secret');
      await store.rotateKey(caller.keyId, { secretHash, prefix: 'another' });
      const renewed = readAll(await hub.watchOrganization({ ...caller, secretHash }));
      await timers.advance(5_000);
      expect(reading).toMatchObject(refusal('unauthorized'));
      expect(renewed.end).toBeNull();
    }),
  );

  it(
    'that lost a scope ends what was opened with it',
    inWatchWorld(async ({ hub, caller, tenant, newCaller, timers }) => {
      const narrow = await newCaller(tenant, ['crawls:read']);
      const reading = readAll(await hub.watchOrganization({ ...narrow, scopes: ['crawls:read', 'crawls:write'] }));
      const other = readAll(await hub.watchOrganization(caller));
      await timers.advance(5_000);
      expect(reading).toMatchObject(refusal('insufficient_scope'));
      expect(other.end).toBeNull();
    }),
  );

  it(
    'is confirmed by one look-up at a time, shared by all who ask meanwhile, and loses its followers at once when it is not',
    inWatchWorld(async ({ hub, store, caller, newCaller, calls }) => {
      const refusals: string[] = [];
      for (let count = 0; count < 2; count++) hub.followKey(caller, ({ code }) => refusals.push(code));
      const other = await newCaller();
      hub.followKey(other, ({ code }) => refusals.push(`other: ${code}`));
      calls.clear();
      await Promise.all(Array.from({ length: 100 }, () => hub.confirmKey(caller)));
      expect(calls.get('findKeyBySecret')).toBe(2);
      await hub.confirmKey(other);
      expect(calls.get('findKeyBySecret')).toBe(3);
      await store.revokeKey(caller.keyId);
      await expect(hub.confirmKey(caller)).rejects.toMatchObject({ code: 'unauthorized' });
      expect(refusals).toEqual(['unauthorized', 'unauthorized']);
    }),
  );

  it(
    'is confirmed to nobody by a look-up that had begun before it was revoked',
    inWatchWorld(async ({ hub, store, caller, faults }) => {
      const read = Promise.withResolvers<void>();
      const held = Promise.withResolvers<void>();
      faults.around = async (_call, _args, go) => {
        const answer = await go();
        read.resolve();
        await held.promise;
        return answer;
      };
      const before = hub.confirmKey(caller);
      await read.promise;
      await store.revokeKey(caller.keyId);
      const after = hub.confirmKey(caller);
      held.resolve();
      await before;
      await expect(after).rejects.toMatchObject({ code: 'unauthorized' });
    }),
  );

  it(
    'is looked up once for all who follow it, and by nobody when they have gone',
    inWatchWorld(async ({ hub, caller, timers, calls, expectNothingLeft }) => {
      const stops = Array.from({ length: 1_000 }, () => hub.followKey(caller, () => {}));
      await timers.advance(9_500);
      expect(calls.get('findKeyBySecret')).toBe(3);
      for (const stop of stops) stop();
      expectNothingLeft();
    }),
  );

  it(
    'keeps its watches while the store does not answer, and loses them once it does',
    inWatchWorld(async ({ hub, store, caller, timers, faults }) => {
      const refusals: string[] = [];
      hub.followKey(caller, ({ code }) => refusals.push(code));
      await store.revokeKey(caller.keyId);
      const { around } = faults;
      faults.around = () => Promise.reject(unavailable('cut off'));
      await timers.advance(60_000);
      expect(refusals).toEqual([]);
      faults.around = around;
      await timers.advance(5_000);
      expect(refusals).toEqual(['unauthorized']);
      await timers.advance(60_000);
      expect(refusals).toEqual(['unauthorized']);
    }),
  );

  it(
    'is not told of to who has left during the look-up',
    inWatchWorld(async ({ hub, store, caller, timers, faults, expectNothingLeft }) => {
      const held = Promise.withResolvers<void>();
      faults.around = (_call, _args, go) => held.promise.then(go);
      let told = false;
      const stop = hub.followKey(caller, () => {
        told = true;
      });
      await store.revokeKey(caller.keyId);
      await timers.advance(3_000);
      stop();
      held.resolve();
      await settled();
      expect(told).toBe(false);
      expectNothingLeft();
    }),
  );
});
