import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createRedisBus } from '#bus/redis.ts';
import type { LeaseToken } from '#domain/ids.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from '#store/mongo/open.ts';
import { createLog } from '#telemetry.ts';
import { SMALL_YOUNG } from '../scripts/cluster/cluster.ts';
import { clockMs, type WatchersReport } from './fan-out/messages.ts';
import { withCluster } from './lib/cluster.ts';
import { withMongo } from './lib/mongo.ts';
import { cpuSecondsOf, memoryOf } from './lib/process.ts';
import { type Bench, expectSame, mebibytes, milliseconds, ratio } from './lib/report.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';

const EVERY_MS = 250;
/** The first ones of a server, which it needs to get warm, are not counted. */
const WARM_UP = 8;
/** For what was sent last to arrive. */
const ARRIVAL_MS = 500;

type Contender = 'bare' | 'loaded' | 'crawlgate';
const LABELS: Readonly<Record<Contender, string>> = {
  bare: 'bare ws',
  loaded: 'bare ws, with the packages of a gateway loaded',
  crawlgate: 'crawlgate, a gateway',
};
/** What a gateway is made of besides `ws`. */
const PACKAGES = [
  'graphql',
  'graphql-yoga',
  '@pothos/core',
  '@pothos/plugin-relay',
  'graphql-ws',
  'hono',
  '@hono/node-server',
  '@hono/zod-openapi',
  'mongodb',
  'ioredis',
  'pino',
  'prom-client',
];

/** A server whose sockets are told of one crawl. */
type Server = {
  readonly pid: number;
  readonly port: number;
  /** Empty: it asks for none. */
  readonly key: string;
  readonly crawlId: string;
  readonly publish: (publishedAt: string) => void;
};
type Measured = {
  readonly p99Ms: number;
  readonly cpuMs: number;
  readonly idleKiB: number;
  readonly residentKiB: number;
  readonly watchersKiB: number;
  readonly form: string;
};
type Figure = Exclude<keyof Measured, 'form'>;
type Sizes = { readonly sockets: number; readonly updates: number };

const forked = (file: string, args: readonly string[], execArgv: string[] = [], env: Readonly<Record<string, string>> = {}): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv, env: { PATH: process.env.PATH, ...env } });

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

async function reportOf(watchers: ChildProcess): Promise<WatchersReport> {
  const answer = once(watchers, 'message');
  watchers.send('report');
  return (await answer)[0] as WatchersReport;
}

async function measure({ pid, port, key, crawlId, publish }: Server, { sockets, updates }: Sizes): Promise<Measured> {
  async function publishAll(count: number): Promise<void> {
    for (let update = 0; update < count; update++) {
      publish(String(clockMs()));
      await delay(EVERY_MS);
    }
    await delay(ARRIVAL_MS);
  }

  await delay(1_000);
  const { residentKiB: idleKiB } = await memoryOf(pid);
  const watchers = forked('./fan-out/watchers.ts', [String(port), key, crawlId, String(sockets)]);
  try {
    await once(watchers, 'message');
    await publishAll(WARM_UP);
    await reportOf(watchers);
    const before = await cpuSecondsOf(pid);
    await publishAll(updates);
    const cpuMs = (1_000 * ((await cpuSecondsOf(pid)) - before)) / updates;
    const { residentKiB } = await memoryOf(pid);
    const { p99s, deliveries, wrong, form } = await reportOf(watchers);
    expectSame('deliveries', sockets * updates, deliveries);
    expectSame('updates out of order, and lost sockets', 0, wrong);
    return { p99Ms: median(p99s), cpuMs, idleKiB, residentKiB, watchersKiB: residentKiB - idleKiB, form };
  } finally {
    await end(watchers);
  }
}

async function measureBare(sizes: Sizes, env: Readonly<Record<string, string>>, packages: readonly string[] = []): Promise<Measured> {
  const server = forked('./fan-out/bare.ts', packages, [SMALL_YOUNG], env); // no larger heap than crawlgate's own
  try {
    const [port] = (await once(server, 'message')) as [number];
    return await measure({ pid: server.pid ?? 0, port, key: '', crawlId: '', publish: (at) => server.send(at) }, sizes);
  } finally {
    await end(server);
  }
}

const measureGateway = (sizes: Sizes, env: Readonly<Record<string, string>>): Promise<Measured> =>
  withMongo((storeUrl) =>
    withCluster({ storeUrl, gateways: 1, workers: 0, env }, async ({ cluster, busUrl, key, call }) => {
      await call('POST', '/v1/crawls', 202, { url: 'https://example.com/', maxUrls: 10_000 });
      const log = createLog('warn', process.stderr);
      const store = await openMongoStore({ url: storeUrl, log, settings: DEFAULT_MONGO_SETTINGS });
      const bus = createRedisBus({ url: busUrl, log });
      try {
        await bus.started;
        const claim = await store.claim(randomUUID() as string as LeaseToken, 600_000);
        const [gateway] = cluster.gateways;
        if (claim === null || gateway === undefined) throw new Error('there is no crawl to watch, or nowhere');
        const { snapshot } = claim;
        let { version } = snapshot;
        function publish(error: string): void {
          version++;
          const counters = { ...snapshot.counters, discovered: version, fetched: version };
          void bus.publish({ ...snapshot, counters, version, error });
        }
        return await measure({ pid: gateway.pid, port: Number(new URL(gateway.url).port), key, crawlId: snapshot.id, publish }, sizes);
      } finally {
        await bus.close();
        await store.close();
      }
    }),
  );

/** One update to many watchers of one crawl. */
export const updates: Bench = ({ smoke, rounds }) =>
  withTempDir(async (cache) => {
    const sizes: Sizes = smoke ? { sockets: 50, updates: 2 } : { sockets: 2_000, updates: 40 };
    const allRounds = smoke ? 1 : rounds;
    const env = { NODE_COMPILE_CACHE: cache };
    const contenders: Record<Contender, () => Promise<Measured>> = {
      bare: () => measureBare(sizes, env),
      loaded: () => measureBare(sizes, env, PACKAGES),
      crawlgate: () => measureGateway(sizes, env),
    };
    await measureBare({ sockets: 1, updates: 1 }, env, PACKAGES); // which fill the cache
    await measureGateway({ sockets: 1, updates: 1 }, env);
    const results = await interleave<Contender, Measured>(allRounds, contenders);
    const forms = new Set(Object.values(results).flatMap((measured) => measured.map(({ form }) => form)));
    expectSame('forms of an update', 1, forms.size);
    const of = (name: Contender, field: Figure): number => median(results[name].map((measured) => measured[field]));
    const against = (field: Figure, other: Contender = 'bare'): string => ratio(of('crawlgate', field) / of(other, field));
    return {
      name: 'updates',
      title: `One update to ${sizes.sockets.toLocaleString('en')} WebSocket watchers of one crawl, ${sizes.updates} updates a round, one each ${EVERY_MS} ms, ${allRounds} interleaved rounds, medians.`,
      head: ['', 'p99 of an update', 'CPU an update', 'memory before', 'memory with all watchers', 'of it for the watchers'],
      rows: (Object.keys(LABELS) as Contender[]).map((name) => [
        LABELS[name],
        milliseconds(of(name, 'p99Ms')),
        milliseconds(of(name, 'cpuMs')),
        mebibytes(of(name, 'idleKiB')),
        mebibytes(of(name, 'residentKiB')),
        mebibytes(of(name, 'watchersKiB')),
      ]),
      targets: [
        { what: 'p99 against the bare server', measured: against('p99Ms'), target: '≤ 1.3 ×' },
        { what: 'CPU against the bare server', measured: against('cpuMs'), target: '≤ 1.4 ×' },
        { what: 'memory of the process against the bare server', measured: against('residentKiB'), target: '≤ 1.4 ×' },
        {
          what: 'the same against the bare server that has the packages loaded',
          measured: against('residentKiB', 'loaded'),
          target: 'told',
        },
        { what: 'memory that the watchers add, against the bare server', measured: against('watchersKiB'), target: 'told' },
      ],
      notes: [
        'The bare server sends the same bytes to every socket, with neither protocol nor GraphQL. crawlgate is a real process in the role gateway, started as its image starts it, on MongoDB (MONGODB_TEST_URL, or the test server) and Redis; the updates are made up, and published through Redis. All have a compile cache that an earlier start has filled, and the same young generation.',
        'From the publishing to the arrival at the watchers, so crawlgate’s time has the way through Redis in it. CPU is that of the server’s process, with all its threads, and memory its resident set.',
      ],
    };
  });
