import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Document } from 'mongodb';
import { WebSocket } from 'ws';
import { withCluster } from '../lib/cluster.ts';
import { startCountingProxy, through, upstreamOf } from '../lib/counting-proxy.ts';
import { withMongo } from '../lib/mongo.ts';
import { cpuSecondsOf, memoryOf } from '../lib/process.ts';
import { expectSame } from '../lib/report.ts';
import { bytes, type MeasureCosts, perUnit } from './cost.ts';

const QUERY = 'subscription($id: ID!) { crawlUpdated(id: $id) { id host state urlsCrawled findingsCount error } }';
const AT_ONCE = 50;

const usedMemory = async (redis: Redis): Promise<number> => Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);

/** Resolves when the stored state has been told. */
async function watch(url: string, key: string, crawlId: string): Promise<WebSocket> {
  const socket = new WebSocket(url, 'graphql-transport-ws', { perMessageDeflate: false });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }));
  await once(socket, 'message');
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: QUERY, variables: { id: crawlId } } }));
  await once(socket, 'message');
  return socket;
}

/** A gateway with a WebSocket on each of many crawls, which is the dearest kind of watcher: nothing is shared. */
export const gatewayCosts: MeasureCosts = (smoke) =>
  withMongo(async (storeUrl, database) => {
    const count = smoke ? 20 : 2_000;
    const seconds = smoke ? 2 : 30;
    await using proxy = await startCountingProxy(upstreamOf(storeUrl));
    return await withCluster({ storeUrl: through(storeUrl, proxy), gateways: 1, workers: 0 }, async ({ cluster, call, busUrl, key }) => {
      const [gateway] = cluster.gateways;
      if (gateway === undefined) throw new RangeError('there is a gateway');
      await call('POST', '/v1/crawls', 202, { url: 'https://example.com/' });
      const crawls = database.collection<Document & { _id: string }>('crawls');
      const first = await crawls.findOne();
      const copies = Array.from({ length: count }, () => ({ ...first, _id: randomUUID() as string, outbox: [] }));
      await crawls.insertMany(copies);
      const redis = new Redis(busUrl);
      await delay(smoke ? 100 : 5_000);
      const { residentKiB: idleKiB } = await memoryOf(gateway.pid);
      const redisBefore = await usedMemory(redis);

      const sockets: WebSocket[] = [];
      const url = `${gateway.url.replace(/^http/, 'ws')}/graphql`;
      const cpuBefore = await cpuSecondsOf(gateway.pid);
      for (let at = 0; at < count; at += AT_ONCE)
        sockets.push(...(await Promise.all(copies.slice(at, at + AT_ONCE).map(({ _id }) => watch(url, key, _id)))));
      const opening = (await cpuSecondsOf(gateway.pid)) - cpuBefore;
      const [, channels] = (await redis.pubsub('NUMSUB', `crawlgate:crawl:${copies[0]?._id}`)) as [string, number];
      expectSame('subscriptions of a watched crawl', 1, Number(channels));
      const redisBytes = (await usedMemory(redis)) - redisBefore;
      await delay(smoke ? 100 : 12_000); // every crawl has been read again once
      proxy.take();
      const cpuAtRest = await cpuSecondsOf(gateway.pid);
      await delay(seconds * 1_000);
      const traffic = proxy.take();
      const restCpu = (await cpuSecondsOf(gateway.pid)) - cpuAtRest;
      const { residentKiB } = await memoryOf(gateway.pid);
      for (const socket of sockets) socket.terminate();
      redis.disconnect();
      const rereads = (count * seconds) / 10;
      const asked = [...traffic.commands.values()].reduce((sum, commands) => sum + commands, 0);
      const how = `${count.toLocaleString('en')} WebSockets, each on a crawl of its own, no update for ${seconds} s`;
      return [
        { of: 'gateway', what: 'memory, idle', value: `${perUnit(idleKiB / 1024)} MiB`, how: 'resident set' },
        { of: 'watcher', what: 'memory', value: bytes(((residentKiB - idleKiB) * 1024) / count), how },
        { of: 'watcher', what: 'CPU to connect and subscribe', value: `${perUnit((opening * 1_000) / count)} ms`, how },
        {
          of: 'watcher',
          what: 'CPU at rest, a second',
          value: `${perUnit((restCpu * 1e6) / count / seconds)} µs`,
          how: 'keep-alives and re-reads; young generation as `npm start` sets it, `--max-semi-space-size=4`',
        },
        {
          of: 'gateway',
          what: 'commands a second',
          value: perUnit(asked / seconds),
          how: [...traffic.commands].map(([name, n]) => `${name} ${n}`).join(', '),
        },
        {
          of: 'watched crawl',
          what: 'bytes of a re-read',
          value: bytes(traffic.received / rereads),
          how: `its version, every 10 s, one query for up to 250 crawls; ${bytes(traffic.sent / rereads)} to ask for it`,
        },
        { of: 'watched crawl', what: 'memory of Redis', value: bytes(redisBytes / count), how: 'a channel with one subscriber' },
      ];
    });
  });
