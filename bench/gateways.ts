import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { clockMs } from './fan-out/messages.ts';
import { type RunningCluster, withCluster } from './lib/cluster.ts';
import { type Latencies, type LatencyContender, latenciesOf, tellLatencies } from './lib/latencies.ts';
import type { CrawlReport, Moment } from './lib/made-up-crawl.ts';
import { withMongo } from './lib/mongo.ts';
import { type Bench, WrongWork } from './lib/report.ts';
import { interleave } from './lib/stats.ts';

const QUERY = 'subscription($id: ID!) { crawlUpdated(id: $id) { id host state urlsCrawled findingsCount error version } }';
const LAST_MS = 5_000;

const LABELS: Readonly<Record<LatencyContender, string>> = { bare: 'bare ioredis and ws', crawlgate: 'crawlgate' };

const forked = (file: string, args: readonly string[]): ChildProcess => fork(fileURLToPath(new URL(file, import.meta.url)), args);

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  if (child.connected) child.disconnect();
  await exit;
}

async function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  const early = once(child, 'exit').then(() => Promise.reject(new WrongWork('a process of the bench ended early')));
  early.catch(() => {});
  return (await Promise.race([once(child, 'message'), early]))[0] as Answer;
}

type Watcher = { readonly received: Moment[]; readonly socket: WebSocket };

/** Resolves when it has been told the stored state. */
async function watch(url: string, key: string | null, crawlId: string): Promise<Watcher> {
  const received: Moment[] = [];
  const socket = new WebSocket(url, key === null ? [] : 'graphql-transport-ws', { perMessageDeflate: false });
  await once(socket, 'open');
  if (key === null) {
    socket.send('begin');
  } else {
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }));
    await once(socket, 'message');
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: QUERY, variables: { id: crawlId } } }));
  }
  await once(socket, 'message');
  socket.on('message', (data: Buffer) => {
    const at = clockMs();
    const version = Number(/"version":(\d+)/.exec(data.toString())?.[1] ?? Number.NaN);
    if (!Number.isNaN(version)) received.push({ version, at }); // else the end of the operation
  });
  return { received, socket };
}

/** Started at the first gateway, run by a worker of its own process, watched at the second gateway or at the bare server. */
async function measure(
  who: LatencyContender,
  { call, cluster, busUrl, key }: RunningCluster,
  storeUrl: string,
  ms: number,
): Promise<Latencies> {
  const { id } = await call<{ id: string }>('POST', '/v1/crawls', 202, { url: 'https://example.com/', maxUrls: 10_000 });
  const worker = forked('./gateways/worker.ts', [storeUrl, busUrl, String(ms)]);
  const bare = who === 'bare' ? forked('./gateways/bare.ts', [busUrl, id]) : null;
  try {
    const [, port] = await Promise.all([answerOf(worker), bare === null ? null : answerOf<number>(bare)]);
    const address = bare === null ? (cluster.gateways[1]?.url ?? '').replace(/^http/, 'ws') : `ws://127.0.0.1:${port}`;
    const { received, socket } = await watch(`${address}/graphql`, bare === null ? key : null, id);
    const reported = answerOf<CrawlReport>(worker);
    worker.send('begin');
    const report = await reported;
    for (const deadline = clockMs() + LAST_MS; clockMs() < deadline && received.at(-1)?.version !== report.finalVersion; )
      await new Promise((resolve) => setTimeout(resolve, 10));
    socket.terminate();
    return latenciesOf(report, received);
  } finally {
    await Promise.all([worker, bare].map((child) => child !== null && ended(child)));
  }
}

/** From a stored batch of pages, through Redis, to its update at a watcher on another gateway. */
export const gateways: Bench = ({ smoke, rounds }) =>
  withMongo((storeUrl) =>
    withCluster({ storeUrl, gateways: 2, workers: 0 }, async (running) => {
      const ms = smoke ? 2_000 : 20_000;
      const allRounds = smoke ? 1 : rounds;
      const contenders: Record<LatencyContender, () => Promise<Latencies>> = {
        bare: () => measure('bare', running, storeUrl, ms),
        crawlgate: () => measure('crawlgate', running, storeUrl, ms),
      };
      const results = await interleave<LatencyContender, Latencies>(allRounds, contenders);
      return {
        name: 'gateways',
        title: `From a batch of pages stored in MongoDB to its update at one WebSocket watcher on another gateway, a batch each 10 to 70 ms with rests, ${ms / 1_000} s a round, ${allRounds} interleaved rounds, all updates together.`,
        ...tellLatencies(results, { labels: LABELS, targetMs: 30, baseline: 'the bare way' }),
        notes: [
          'The crawl is started at one gateway and watched at the other; both are real processes, and so are the worker, Redis and MongoDB (MONGODB_TEST_URL, or the test server). The worker fetches nothing: it stores made-up pages with the real `commitPages` and tells them through the real publisher with its 200 ms window.',
          'The bare way hears of the same messages of the same worker: a process with one subscription of ioredis that sends each message to its `ws` sockets as it is. For the latency inside one process see latency.',
          'Beyond the window: from when an update could be sent, which is when its batch was stored or when the window after the update before was over, to its arrival.',
        ],
      };
    }),
  );
