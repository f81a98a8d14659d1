import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { clockMs } from './fan-out/messages.ts';
import type { LatencyServerReady } from './latency/messages.ts';
import { type Latencies, type LatencyContender, latenciesOf, tellLatencies } from './lib/latencies.ts';
import type { CrawlReport, Moment } from './lib/made-up-crawl.ts';
import type { Bench } from './lib/report.ts';
import { interleave } from './lib/stats.ts';

const SERVER = fileURLToPath(new URL('./latency/server.ts', import.meta.url));
const QUERY = 'subscription($id: ID!) { crawlUpdated(id: $id) { id host state urlsCrawled findingsCount error version } }';

const LABELS: Readonly<Record<LatencyContender, string>> = { bare: 'bare ws', crawlgate: 'crawlgate' };

/** The one watcher. Resolves when it has been told the stored state; `received` is filled until the final version has come. */
async function watch(who: LatencyContender, { port, key, crawlId }: LatencyServerReady): Promise<Moment[]> {
  const received: Moment[] = [];
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, who === 'bare' ? [] : 'graphql-transport-ws', {
    perMessageDeflate: false,
  });
  await once(socket, 'open');
  if (who === 'crawlgate') {
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }));
    await once(socket, 'message');
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: QUERY, variables: { id: crawlId } } }));
  } else {
    socket.send('begin');
  }
  await once(socket, 'message');
  socket.on('message', (data: Buffer) => {
    const at = clockMs();
    const version = Number(/"version":(\d+)/.exec(data.toString())?.[1] ?? Number.NaN);
    if (!Number.isNaN(version)) received.push({ version, at }); // else the end of the operation
  });
  return received;
}

async function measure(who: LatencyContender, ms: number): Promise<Latencies> {
  const server = fork(SERVER, [who, String(ms)]);
  try {
    const [ready] = (await once(server, 'message')) as [LatencyServerReady];
    const received = await watch(who, ready);
    const reported = once(server, 'message');
    server.send('begin');
    const [report] = (await reported) as [CrawlReport];
    for (const deadline = clockMs() + 5_000; clockMs() < deadline && received.at(-1)?.version !== report.finalVersion; )
      await new Promise((resolve) => setTimeout(resolve, 10));
    return latenciesOf(report, received);
  } finally {
    const ended = once(server, 'exit');
    server.disconnect();
    await ended;
  }
}

/** From a stored batch of pages to its update at one watcher. */
export const latency: Bench = async ({ smoke, rounds }) => {
  const ms = smoke ? 2_000 : 20_000;
  const allRounds = smoke ? 1 : rounds;
  const names = Object.keys(LABELS) as LatencyContender[];
  const contenders = Object.fromEntries(names.map((who) => [who, () => measure(who, ms)])) as Record<
    LatencyContender,
    () => Promise<Latencies>
  >;
  const results = await interleave<LatencyContender, Latencies>(allRounds, contenders);
  return {
    name: 'latency',
    title: `From a stored batch of pages to its update at one WebSocket watcher, a batch each 10 to 70 ms with rests, ${ms / 1_000} s a round, ${allRounds} interleaved rounds, all updates together.`,
    ...tellLatencies(results, { labels: LABELS, targetMs: 20, baseline: 'the bare server' }),
    notes: [
      'Batches are stored by `commitPages` of the real store in a thread of its own, and told through the real bus and its 200 ms window; both servers hear of the same. The bare one sends the snapshot as it is, with neither protocol nor GraphQL.',
      'Beyond the window: from when an update could be sent, which is when its batch was stored or when the window after the update before was over, to its arrival.',
    ],
  };
};
