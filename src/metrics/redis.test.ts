import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createRedisBus } from '#bus/redis.ts';
import type { KeyId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { createRedisRequestCounter } from '#limiter/redis.ts';
import { createRedisServer, withRedisServer } from '#redis/fixtures/redis-server.ts';
import { createLog } from '#telemetry.ts';
import { readScraped } from './fixtures/scraped.ts';
import { createMeter } from './meter.ts';
import { measureBus, measureRequestCounter } from './redis.ts';
import { createScrape } from './scrape.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

withRedisServer(() => {
  test('Redis is told as there, then as away, with what was lost meanwhile', async () => {
    const server = await createRedisServer();
    await server.start();
    const log = createLog('silent', { write() {} });
    const bus = createRedisBus({ url: server.url, log });
    const counter = createRedisRequestCounter({ url: server.url, log, windowMs: 60_000, answerMs: 10_000 });
    try {
      const meter = createMeter('main');
      measureBus(meter, bus);
      measureRequestCounter(meter, counter);
      const scrape = createScrape({ meter });
      const read = async () => {
        const scraped = readScraped((await scrape()).text);
        const messages = (outcome: string) => scraped.value('crawlgate_bus_messages_total', { outcome });
        return {
          ...{ published: messages('published'), dropped: messages('dropped'), broken: messages('broken') },
          connected: [scraped.value('crawlgate_bus_connected'), scraped.value('crawlgate_request_limit_connected')],
          fallbacks: scraped.value('crawlgate_request_limit_fallbacks_total'),
        };
      };
      const snapshot = { id: randomUUID(), organizationId: randomUUID(), phase: 'fetching' } as string | object as Snapshot;
      const keyId = randomUUID() as string as KeyId;
      await Promise.all([bus.started, counter.started]);
      await bus.publish(snapshot);
      await counter.count(keyId);
      while ((await read()).published === 0) await turn();
      expect(await read()).toEqual({ published: 1, dropped: 0, broken: 0, connected: [1, 1], fallbacks: 0 });
      await server.kill();
      while ((await read()).connected.includes(1)) await turn();
      await bus.publish(snapshot);
      await counter.count(keyId);
      while ((await read()).dropped === 0) await turn(); // the link that publishes has its own end
      expect(await read()).toEqual({ published: 1, dropped: 1, broken: 0, connected: [0, 0], fallbacks: 1 });
    } finally {
      await Promise.all([bus.close(), counter.close()]);
      await server.kill();
    }
  });
});
