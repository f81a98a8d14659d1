import { describe, test, vi } from 'vitest';
import { createCuttable } from '../redis/fixtures/cuttable.ts';
import { busContract } from './contract/bus-contract.ts';
import { createRedisBus, type RedisBus } from './redis.ts';

const url = process.env.REDIS_TEST_URL;

/** Resolves when the bus has told of a gap. */
const gapOf = (bus: RedisBus): Promise<void> => {
  const told = Promise.withResolvers<void>();
  const stop = bus.onGap(() => told.resolve());
  return told.promise.finally(stop);
};

if (url === undefined) {
  describe('the bus port on Redis', () => {
    test.skip('(to run: start Redis and set REDIS_TEST_URL=redis://127.0.0.1:6379)', () => {});
  });
} else {
  busContract('Redis', {
    async open(log) {
      const way = await createCuttable(url);
      const [here, there] = [createRedisBus({ url: way.url, log }), createRedisBus({ url: way.url, log })];
      await Promise.all([here.started, there.started]);
      return {
        here,
        there,
        async interrupt() {
          const gaps = [gapOf(here), gapOf(there)];
          way.cut();
          await Promise.all(gaps);
          // the links that publish come back by themselves, neither before nor after those that listen
          await vi.waitUntil(() => here.isConnected() && there.isConnected(), 10_000);
        },
        async close() {
          await Promise.all([here.close(), there.close()]);
          await way.close();
        },
      };
    },
  });
}
