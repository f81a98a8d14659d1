import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Snapshot } from '#domain/snapshot.ts';
import { heapUsed } from '#service/fixtures/heap.ts';
import { createLog } from '#telemetry.ts';
import { createRedisServer, type RedisServer, withRedisServer } from '../redis/fixtures/redis-server.ts';
import type { Topic } from './bus.ts';
import { listen, settled, snapshotOf } from './contract/bus-contract.ts';
import { createRedisBus, type RedisBus } from './redis.ts';

const HEARTBEAT_MS = 200;
/** Bytes; those of 100,000 publications would be 20 times as many. */
const MOST_GROWTH = 32 * 1024 * 1024;
const MOST_CLOSING_MS = 1_500;
const WAIT = { timeout: 15_000, interval: 20 };

const crawlOf = ({ id }: Snapshot): Topic => ({ kind: 'crawl', id });
const channelOf = ({ id }: Snapshot): string => `crawlgate:crawl:${id}`;

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

  function open(url = server.url, now?: () => number): RedisBus {
    const log = createLog('info', { write: (line) => logged.push(line) });
    const bus = createRedisBus({ url, log, heartbeatMs: HEARTBEAT_MS, ...(now === undefined ? {} : { now }) });
    opened.push(bus);
    return bus;
  }

  async function openConnected(): Promise<RedisBus> {
    const bus = open();
    await bus.started;
    expect(bus.isConnected()).toBe(true);
    return bus;
  }

  /** Whether the bus drops a publication at once: the link that publishes has its own end. */
  function drops(bus: RedisBus): boolean {
    const { dropped } = bus.counts();
    void bus.publish(snapshotOf());
    return bus.counts().dropped > dropped;
  }
  const disconnected = (...buses: RedisBus[]) => vi.waitUntil(() => buses.every((bus) => !bus.isConnected() && drops(bus)), WAIT);
  const connected = (...buses: RedisBus[]) => vi.waitUntil(() => buses.every((bus) => bus.isConnected()), WAIT);
  const lines = (text: string): string[] => logged.filter((line) => line.includes(text));

  /** Counts the gaps that the bus tells of from now on. */
  function gapsOf(bus: RedisBus): { told: number } {
    const gaps = { told: 0 };
    bus.onGap(() => gaps.told++);
    return gaps;
  }

  /** A plain client of the same server. */
  function plain(): Redis {
    const client = new Redis(server.url);
    opened.push({ close: () => client.disconnect() });
    return client;
  }

  describe('the bus on Redis, when Redis dies', () => {
    test('refuses no publication meanwhile, waits for none, counts them, and logs the outage once', async () => {
      const bus = await openConnected();
      await server.kill();
      await disconnected(bus);
      const before = bus.counts().dropped;
      const begun = performance.now();
      for (let i = 0; i < 1_000; i++) await bus.publish(snapshotOf());
      expect(performance.now() - begun).toBeLessThan(10_000); // none of them has waited
      expect(bus.counts().dropped - before).toBe(1_000);
      // several attempts to connect fail in this time
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      expect(lines('Redis is away')).toHaveLength(1);
      await server.start();
      await connected(bus);
      expect(lines('Redis is back')).toHaveLength(1);
      expect(logged).toHaveLength(2);
    });

    test('goes on telling its listeners afterwards, and tells of one gap an outage', async () => {
      const [here, there] = [await openConnected(), await openConnected()];
      const crawl = snapshotOf();
      const { told } = await listen(here, crawlOf(crawl));
      const gaps = gapsOf(here);
      for (let round = 1; round <= 3; round++) {
        await server.kill();
        await disconnected(here, there);
        await there.publish({ ...crawl, version: 100 });
        await server.start();
        await connected(here, there);
        await vi.waitUntil(() => gaps.told === round, WAIT);
        await there.publish({ ...crawl, version: round });
        await settled(there, here);
      }
      expect(told.map(({ version }) => version)).toEqual([1, 2, 3]);
      expect(gaps.told).toBe(3);
      expect(here.counts().gaps).toBe(3);
    });

    test('subscribes anew what is listened to by then, and nothing else', async () => {
      const bus = await openConnected();
      const [kept, ended, begun] = [snapshotOf(), snapshotOf(), snapshotOf()];
      await listen(bus, crawlOf(kept));
      const { stop } = await listen(bus, crawlOf(ended));
      const gaps = gapsOf(bus);
      await server.kill();
      await disconnected(bus);
      stop();
      // resolves though Redis is away
      const { told } = await listen(bus, crawlOf(begun));
      await server.start();
      await vi.waitUntil(() => gaps.told === 1, WAIT);
      expect((await plain().pubsub('CHANNELS')).sort()).toEqual([channelOf(kept), channelOf(begun)].sort());
      await connected(bus);
      await bus.publish(begun);
      await settled(bus, bus);
      expect(told).toEqual([begun]);
    });

    test('takes up thousands of channels again', async () => {
      const bus = await openConnected();
      const crawls = Array.from({ length: 2_500 }, () => snapshotOf());
      await Promise.all(crawls.map((crawl) => listen(bus, crawlOf(crawl))));
      const gaps = gapsOf(bus);
      await server.kill();
      await server.start();
      await vi.waitUntil(() => gaps.told === 1, WAIT);
      expect(await plain().pubsub('CHANNELS')).toHaveLength(2_500);
    });

    test('keeps its memory flat through 100,000 publications', async () => {
      const bus = await openConnected();
      await server.kill();
      await disconnected(bus);
      const crawl = snapshotOf({ url: `https://example.com/${'x'.repeat(2_000)}` });
      const before = heapUsed();
      for (let version = 0; version < 100_000; version++) void bus.publish({ ...crawl, version });
      expect(heapUsed() - before).toBeLessThan(MOST_GROWTH);
      expect(bus.counts().dropped).toBeGreaterThanOrEqual(100_000);
    });

    test('is found by a bus that was started without it', async () => {
      await server.kill();
      const bus = open();
      await bus.started;
      expect(bus.isConnected()).toBe(false);
      const crawl = snapshotOf();
      const { told } = await listen(bus, crawlOf(crawl));
      const gaps = gapsOf(bus);
      await bus.publish(crawl);
      await server.start();
      await vi.waitUntil(() => gaps.told === 1 && bus.isConnected(), WAIT);
      await bus.publish({ ...crawl, version: 2 });
      await settled(bus, bus);
      expect(told.map(({ version }) => version)).toEqual([2]);
    });
  });

  describe('the bus on Redis, when Redis hangs', () => {
    test('gives the connection up after two heartbeats, and goes on once Redis answers again', async () => {
      const [here, there] = [await openConnected(), await openConnected()];
      const crawl = snapshotOf();
      const { told } = await listen(here, crawlOf(crawl));
      const gaps = gapsOf(here);
      server.hold();
      await disconnected(here, there);
      await vi.waitUntil(() => lines('no answer within 200 ms').length > 0, WAIT);
      server.go();
      await connected(here, there);
      await vi.waitUntil(() => gaps.told > 0, WAIT);
      await there.publish(crawl);
      await settled(there, here);
      expect(told).toEqual([crawl]);
    });

    test('bounds what waits for an answer, and drops the rest', async () => {
      const bus = await openConnected();
      const crawl = snapshotOf({ url: `https://example.com/${'x'.repeat(2_000)}` });
      server.hold();
      const before = heapUsed();
      const begun = performance.now();
      for (let version = 0; version < 100_000; version++) void bus.publish({ ...crawl, version });
      expect(performance.now() - begun).toBeLessThan(10_000);
      expect(heapUsed() - before).toBeLessThan(MOST_GROWTH);
      expect(bus.counts().dropped).toBeGreaterThan(90_000);
      server.go();
    });

    test('lets a subscription wait a second at most, and tells of a gap when Redis takes it later', async () => {
      const log = createLog('silent', { write() {} });
      const bus = createRedisBus({ url: server.url, log, heartbeatMs: 60_000 });
      opened.push(bus);
      await bus.started;
      const gaps = gapsOf(bus);
      server.hold();
      const begun = performance.now();
      const { told } = await listen(bus, crawlOf(snapshotOf()));
      expect(performance.now() - begun).toBeLessThan(10_000); // Redis would hold it for ever
      expect(gaps.told).toBe(0);
      server.go();
      await vi.waitUntil(() => gaps.told === 1, WAIT);
      expect(told).toEqual([]);
    });
  });

  describe('the channels of the bus on Redis', () => {
    test('are subscribed while somebody listens, once for all who do', async () => {
      const bus = await openConnected();
      const crawl = snapshotOf();
      const client = plain();
      const subscribers = async () => (await client.pubsub('NUMSUB', channelOf(crawl)))[1];
      const [first, second] = [await listen(bus, crawlOf(crawl)), await listen(bus, crawlOf(crawl))];
      expect(await subscribers()).toBe(1);
      first.stop();
      await settled(bus, bus);
      expect(await subscribers()).toBe(1);
      second.stop();
      await settled(bus, bus);
      expect(await subscribers()).toBe(0);
      const third = await listen(bus, crawlOf(crawl));
      expect(await subscribers()).toBe(1);
      third.stop();
      await vi.waitUntil(async () => (await client.pubsub('CHANNELS')).length === 0, WAIT);
    });

    test('are one for each kind of topic, by names that an operator can tell apart', async () => {
      const bus = await openConnected();
      const { id, organizationId } = snapshotOf();
      await bus.subscribe({ kind: 'crawl', id }, () => {});
      await bus.subscribe({ kind: 'organization', id: organizationId }, () => {});
      await bus.subscribe({ kind: 'queued' }, () => {});
      expect((await plain().pubsub('CHANNELS')).sort()).toEqual(
        [`crawlgate:crawl:${id}`, `crawlgate:organization:${organizationId}`, 'crawlgate:queued'].sort(),
      );
    });

    test('end as the last caller left them when one comes and goes before Redis has answered', async () => {
      const bus = await openConnected();
      const crawl = snapshotOf();
      const waiting = [];
      for (let i = 0; i < 20; i++) {
        waiting.push(listen(bus, crawlOf(crawl)).then(({ stop }) => stop()));
        waiting.push(bus.subscribe({ kind: 'queued' }, () => {}).then((stop) => stop()));
      }
      await Promise.all(waiting);
      await vi.waitUntil(async () => (await plain().pubsub('CHANNELS')).length === 0, WAIT);
      const { told } = await listen(bus, crawlOf(crawl));
      await bus.publish(crawl);
      await settled(bus, bus);
      expect(told).toEqual([crawl]);
    });
  });

  describe('messages on the channels that are not of the bus', () => {
    const crawl = snapshotOf();
    test.each([
      ['no JSON', '{"id":'],
      ['no object', '7'],
      ['nothing', ''],
      ['null', 'null'],
      ['a field of a wrong type', JSON.stringify({ ...crawl, version: '1' })],
      ['a missing field', JSON.stringify({ ...crawl, counters: undefined })],
      ['a wrong field within', JSON.stringify({ ...crawl, counters: { ...crawl.counters, fetched: -1 } })],
      ['an unknown state', JSON.stringify({ ...crawl, state: 'paused' })],
      ['an inherited field', JSON.stringify({ ...crawl, id: undefined, ['__proto__']: { id: crawl.id } })],
      ['the snapshot of another crawl', JSON.stringify(snapshotOf())],
    ])('are dropped and counted: %s', async (_what, message) => {
      const bus = await openConnected();
      const { told } = await listen(bus, crawlOf(crawl));
      await plain().publish(channelOf(crawl), message);
      await vi.waitUntil(() => bus.counts().broken === 1, WAIT);
      await bus.publish(crawl);
      await settled(bus, bus);
      expect(told).toEqual([crawl]);
      expect(lines('no snapshot of its channel')).toHaveLength(1);
    });

    test('are logged once a minute, without what they say', async () => {
      let time = 0;
      const bus = open(server.url, () => time);
      await bus.started;
      await listen(bus, crawlOf(crawl));
      const client = plain();
      for (let i = 0; i < 100; i++) await client.publish(channelOf(crawl), 'nonsense');
      await vi.waitUntil(() => bus.counts().broken === 100, WAIT);
      expect(lines('no snapshot of its channel')).toHaveLength(1);
      time = 60_000;
      await client.publish(channelOf(crawl), 'nonsense');
      await vi.waitUntil(() => bus.counts().broken === 101, WAIT);
      expect(lines('no snapshot of its channel')).toHaveLength(2);
      expect(lines('nonsense')).toEqual([]);
    });

    test('are taken without the fields that a later version has added', async () => {
      const bus = await openConnected();
      const { told } = await listen(bus, crawlOf(crawl));
      await plain().publish(channelOf(crawl), JSON.stringify({ ...crawl, mood: 'good', counters: { ...crawl.counters, lost: 1 } }));
      await settled(bus, bus);
      expect(told).toEqual([crawl]);
    });
  });

  describe('the bus on a Redis that refuses', () => {
    /** What two links make of connections in so many milliseconds, when each wait is the shortest that doubles: 50 ms, 100 ms … */
    function mostConnections(ms: number): number {
      let attempts = 1;
      for (let [at, wait] = [50, 50]; at <= ms; at += wait) {
        attempts++;
        wait *= 2;
      }
      return 2 * attempts;
    }

    test('a wrong password is logged once, not shown, and tried again without haste', async () => {
      await plain().config('SET', 'requirepass', 'the-right-one');
      const begun = performance.now();
      const bus = open(`redis://:the-wrong-one@127.0.0.1:${server.port}`);
      await bus.started;
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(bus.isConnected()).toBe(false);
      expect(lines('Redis is away')).toHaveLength(1);
      expect(lines('WRONGPASS')).toHaveLength(1);
      expect(lines('-one')).toEqual([]);
      const right = new Redis(server.url, { password: 'the-right-one' });
      opened.push({ close: () => right.disconnect() });
      const made = Number(/total_connections_received:(\d+)/.exec(await right.info('stats'))?.[1]);
      expect(made).toBeLessThanOrEqual(mostConnections(performance.now() - begun) + 2); // those of the test
      await right.config('SET', 'requirepass', 'the-wrong-one');
      await connected(bus);
    });

    test('the right to publish: logged once, counted, and no publication is refused', async () => {
      await plain().call('ACL', 'SETUSER', 'reader', 'on', '>pass', 'resetchannels', '&crawlgate:*', '+@all', '-publish');
      const bus = open(`redis://reader:pass@127.0.0.1:${server.port}`);
      await bus.started;
      for (let i = 0; i < 10; i++) await bus.publish(snapshotOf());
      await vi.waitUntil(() => bus.counts().dropped === 10, WAIT);
      expect(lines('Redis refuses')).toHaveLength(1);
    });
  });

  describe('a process with a bus on Redis', () => {
    const entry = fileURLToPath(new URL('./fixtures/close-while-away.ts', import.meta.url));
    test.each([
      ['answers', 'connected', () => {}],
      ['has died since', 'connected', () => server.kill()],
      ['hangs', 'connected', () => server.hold()],
      ['was never there', 'away', () => {}],
    ])('closes it without waiting for Redis, and then ends, when Redis %s', async (_what, state, fault) => {
      if (state === 'away') await server.kill();
      const child = spawn(process.execPath, [entry, server.url], { stdio: ['pipe', 'pipe', 'inherit'] });
      const output = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      expect((await output.next()).value).toBe(state);
      await fault();
      const ended = once(child, 'exit');
      child.stdin.write('close\n');
      const took = Number((await output.next()).value);
      const closedAt = performance.now();
      // on a busy machine; what it must not wait for takes longer: a connection that is being made, two seconds, an answer for ever
      expect(took).toBeLessThan(MOST_CLOSING_MS);
      expect(await ended).toEqual([0, null]);
      expect(performance.now() - closedAt).toBeLessThan(MOST_CLOSING_MS);
      server.go();
    });
  });
});
