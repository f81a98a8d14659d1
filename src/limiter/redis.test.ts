import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { KeyId } from '#domain/ids.ts';
import { createLimitRequests, REQUEST_WINDOW_MS } from '#service/limit-requests.ts';
import { createLog } from '#telemetry.ts';
import { createRedisServer, type RedisServer, withRedisServer } from '../redis/fixtures/redis-server.ts';
import { createRedisRequestCounter, type RedisRequestCounter } from './redis.ts';

const WAIT = { timeout: 15_000, interval: 20 };
const newKeyId = (): KeyId => randomUUID() as string as KeyId;

withRedisServer(() => {
  let server: RedisServer;
  let opened: { close(): unknown }[];
  let logged: string[];

  beforeEach(async () => {
    [opened, logged] = [[], []];
    server = await createRedisServer();
    await server.start();
  });
  afterEach(async () => {
    await Promise.all(opened.map((part) => part.close()));
    await server.kill();
  });

  /** What counts is tested apart from how long it may take. */
  async function open({
    windowMs = REQUEST_WINDOW_MS,
    heartbeatMs = 200,
    url = server.url,
    answerMs = 10_000,
  } = {}): Promise<RedisRequestCounter> {
    const log = createLog('info', { write: (line) => logged.push(line) });
    const counter = createRedisRequestCounter({ url, log, windowMs, heartbeatMs, answerMs });
    opened.push(counter);
    await counter.started;
    return counter;
  }

  function plain(): Redis {
    const client = new Redis(server.url);
    opened.push({ close: () => client.disconnect() });
    return client;
  }

  const lines = (text: string): string[] => logged.filter((line) => line.includes(text));
  const away = (...counters: RedisRequestCounter[]) => vi.waitUntil(() => counters.every((counter) => !counter.isConnected()), WAIT);
  const connected = (...counters: RedisRequestCounter[]) => vi.waitUntil(() => counters.every((counter) => counter.isConnected()), WAIT);

  describe('the counter of requests on Redis', () => {
    test('counts a key over all processes, each request once, also when they come at once', async () => {
      const [one, other] = [await open(), await open()];
      const key = newKeyId();
      const counts = await Promise.all(Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? one : other).count(key)));
      const sorted = counts.map((answer) => answer?.count ?? 0).sort((a, b) => a - b);
      expect(sorted).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    });

    test('lets two limiters that share a key admit its limit between them, exactly', async () => {
      const now = () => performance.now();
      const limiters = [await open(), await open()].map((counter) => createLimitRequests({ limitPerMinute: 60, now, counter }));
      const key = newKeyId();
      const allowances = await Promise.all(Array.from({ length: 100 }, (_, index) => limiters[index % 2]?.(key)));
      expect(allowances.filter((allowance) => allowance?.admitted)).toHaveLength(60);
      for (const allowance of allowances) {
        expect(allowance?.resetMs).toBeGreaterThan(0);
        expect(allowance?.resetMs).toBeLessThanOrEqual(REQUEST_WINDOW_MS);
      }
    });

    test('counts each key for itself', async () => {
      const counter = await open();
      await counter.count(newKeyId());
      expect(await counter.count(newKeyId())).toMatchObject({ count: 1 });
    });

    test('begins again when the window has ended, which requests within do not put off, and leaves nothing in Redis', async () => {
      const counter = await open({ windowMs: 500 });
      const key = newKeyId();
      const begun = performance.now();
      const first = await counter.count(key);
      expect(first?.resetMs).toBeGreaterThan(400);
      await vi.waitUntil(async () => (await counter.count(key))?.count === 1, WAIT);
      expect(performance.now() - begun).toBeGreaterThanOrEqual(499);
      const client = plain();
      await vi.waitUntil(async () => (await client.dbsize()) === 0, WAIT);
    });

    test('gives a key that has lost its end a new one', async () => {
      const counter = await open();
      const key = newKeyId();
      await counter.count(key);
      const [name = ''] = await plain().keys('crawlgate:requests:*');
      expect(await plain().persist(name)).toBe(1);
      expect(await counter.count(key)).toEqual({ count: 2, resetMs: REQUEST_WINDOW_MS });
    });

    test('counts anew on a Redis that lost everything, script included', async () => {
      const counter = await open();
      const key = newKeyId();
      await counter.count(key);
      await server.kill();
      await away(counter);
      await server.start();
      await connected(counter);
      expect(await counter.count(key)).toMatchObject({ count: 1 });
    });
  });

  describe('the counter of requests, while Redis is away', () => {
    test('answers at once that each process has to count, and logs that once', async () => {
      const counter = await open();
      await server.kill();
      await away(counter);
      const begun = performance.now();
      for (let i = 0; i < 1_000; i++) expect(await counter.count(newKeyId())).toBeNull();
      expect(performance.now() - begun).toBeLessThan(10_000); // none of them has waited
      expect(counter.uncounted()).toBeGreaterThanOrEqual(1_000);
      await server.start();
      await connected(counter);
      expect(lines('Redis is away')).toHaveLength(1);
      expect(lines('Redis is back')).toHaveLength(1);
      expect(await counter.count(newKeyId())).toMatchObject({ count: 1 });
    });

    test('limits each process by its own count', async () => {
      const now = () => performance.now();
      const counters = [await open(), await open()];
      const limiters = counters.map((counter) => createLimitRequests({ limitPerMinute: 10, now, counter }));
      const key = newKeyId();
      await server.kill();
      await away(...counters);
      const allowances = await Promise.all(Array.from({ length: 40 }, (_, index) => limiters[index % 2]?.(key)));
      expect(allowances.filter((allowance) => allowance?.admitted)).toHaveLength(20);
    });

    // Redis was given up for an answer that lay in the socket: the process had been busy for longer than it waits.
    test('takes an answer that came in time while the process itself was held up', async () => {
      const counter = await open({ answerMs: 100 });
      const key = newKeyId();
      await counter.count(key);
      const answer = counter.count(key);
      await new Promise((resolve) => setImmediate(resolve)); // it is sent
      for (const until = performance.now() + 300; performance.now() < until; );
      expect(await answer).toMatchObject({ count: 2 });
    });

    test('keeps no request waiting when the connection breaks under it', async () => {
      const counter = await open();
      server.hold();
      const answer = counter.count(newKeyId());
      await server.kill();
      expect(await answer).toBeNull();
    });

    test('is found when it comes later than the process', async () => {
      await server.kill();
      const counter = await open();
      expect(await counter.count(newKeyId())).toBeNull();
      await server.start();
      await connected(counter);
      expect(await counter.count(newKeyId())).toMatchObject({ count: 1 });
    });
  });

  describe('the counter of requests, when Redis hangs', () => {
    test('keeps the first requests waiting a moment and the next ones not at all, until Redis answers again', async () => {
      const counter = await open({ heartbeatMs: 60_000, answerMs: 100 });
      server.hold();
      const begun = performance.now();
      expect(await counter.count(newKeyId())).toBeNull();
      const stalled = performance.now();
      expect(stalled - begun).toBeLessThan(10_000);
      for (let i = 0; i < 100; i++) expect(await counter.count(newKeyId())).toBeNull();
      expect(performance.now() - stalled).toBeLessThan(5_000); // ten seconds, if each had waited its moment
      server.go();
      await vi.waitUntil(async () => (await counter.count(newKeyId())) !== null, WAIT);
    });
  });

  describe('the counter of requests on a Redis that refuses', () => {
    test('leaves the counting to each process, and says so once', async () => {
      await plain().call('ACL', 'SETUSER', 'other', 'on', '>pass', 'allkeys', '+@all', '-eval');
      const counter = await open({ url: `redis://other:pass@127.0.0.1:${server.port}` });
      for (let i = 0; i < 10; i++) expect(await counter.count(newKeyId())).toBeNull();
      expect(lines('does not count requests')).toHaveLength(1);
    });

    test('does so too where something else stands under the key', async () => {
      const counter = await open();
      const key = newKeyId();
      await plain().set(`crawlgate:requests:${key}`, 'text');
      expect(await counter.count(key)).toBeNull();
      expect(lines('does not count requests')).toHaveLength(1);
    });
  });
});
