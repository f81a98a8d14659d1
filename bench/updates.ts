import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ServerReady, ServerReport, WatchersReport } from './fan-out/messages.ts';
import { type Bench, expectSame, mebibytes, milliseconds, ratio } from './lib/report.ts';
import { interleave, median } from './lib/stats.ts';

const EVERY_MS = 250;
/** The first ones of a server, which it needs to get warm, are not counted. */
const WARM_UP = 8;

type Contender = 'bare' | 'crawlgate' | 'default';
/** As `npm start` and `crawlgate` start it: a small young generation is all that the main thread needs. */
const SMALL_YOUNG = '--max-semi-space-size=4';
const CONTENDERS: Readonly<Record<Contender, { readonly label: string; readonly file: string; readonly flags: readonly string[] }>> = {
  bare: { label: 'bare ws', file: './fan-out/bare.ts', flags: [] },
  crawlgate: { label: 'crawlgate', file: './fan-out/gateway.ts', flags: [SMALL_YOUNG] },
  default: { label: `crawlgate without ${SMALL_YOUNG}`, file: './fan-out/gateway.ts', flags: [] },
};

type Measured = { readonly p99Ms: number; readonly cpuMs: number; readonly residentKiB: number; readonly watchersKiB: number };

const forked = (file: string, args: readonly string[], execArgv: readonly string[]): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [...execArgv] });

async function asked<Answer>(child: ChildProcess, order: object | string): Promise<Answer> {
  const answer = once(child, 'message');
  child.send(order);
  return (await answer)[0] as Answer;
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.disconnect();
  await ended;
}

async function measure(contender: Contender, sockets: number, updates: number): Promise<Measured> {
  const { file, flags } = CONTENDERS[contender];
  const server = forked(file, [], flags);
  const [{ port, key, crawlId }] = (await once(server, 'message')) as [ServerReady];
  await delay(1_000);
  const idle = await asked<ServerReport>(server, 'idle');
  const watchers = forked('./fan-out/watchers.ts', [String(port), key, crawlId, String(sockets)], []);
  try {
    await once(watchers, 'message');
    await asked(server, { publish: WARM_UP, everyMs: EVERY_MS });
    await delay(500);
    await asked<WatchersReport>(watchers, 'report');
    const { cpuMicroseconds, residentBytes } = await asked<ServerReport>(server, { publish: updates, everyMs: EVERY_MS });
    await delay(500);
    const { p99s, deliveries, wrong } = await asked<WatchersReport>(watchers, 'report');
    expectSame('deliveries', sockets * updates, deliveries);
    expectSame('updates out of order, and lost sockets', 0, wrong);
    const watchersKiB = (residentBytes - idle.residentBytes) / 1024;
    return { p99Ms: median(p99s), cpuMs: cpuMicroseconds / 1e3 / updates, residentKiB: residentBytes / 1024, watchersKiB };
  } finally {
    await end(watchers);
    await end(server);
  }
}

/** One update to many watchers of one crawl. */
export const updates: Bench = async ({ smoke, rounds }) => {
  const [sockets, count] = smoke ? [50, 2] : [2_000, 20];
  const allRounds = smoke ? 1 : rounds;
  const names = Object.keys(CONTENDERS) as Contender[];
  const contenders = Object.fromEntries(names.map((name) => [name, () => measure(name, sockets, count)])) as Record<
    Contender,
    () => Promise<Measured>
  >;
  const results = await interleave<Contender, Measured>(allRounds, contenders);
  const of = (name: Contender, field: keyof Measured): number => median(results[name].map((measured) => measured[field]));
  const against = (field: keyof Measured): string => ratio(of('crawlgate', field) / of('bare', field));
  return {
    name: 'updates',
    title: `One update to ${sockets.toLocaleString('en')} WebSocket watchers of one crawl, ${count} updates a round, one each ${EVERY_MS} ms, ${allRounds} interleaved rounds, medians.`,
    head: ['', 'p99 of an update', 'CPU an update', 'memory', 'of it for the watchers'],
    rows: names.map((name) => [
      CONTENDERS[name].label,
      milliseconds(of(name, 'p99Ms')),
      milliseconds(of(name, 'cpuMs')),
      mebibytes(of(name, 'residentKiB')),
      mebibytes(of(name, 'watchersKiB')),
    ]),
    targets: [
      { what: 'p99 against the bare server', measured: against('p99Ms'), target: '≤ 1.3 ×' },
      { what: 'CPU against the bare server', measured: against('cpuMs'), target: '≤ 1.4 ×' },
      { what: 'memory of the process against the bare server', measured: against('residentKiB'), target: '≤ 1.4 ×' },
      { what: 'memory that the watchers add, against the bare server', measured: against('watchersKiB'), target: 'told' },
    ],
    notes: [
      'The bare server sends the same bytes to every socket, with neither protocol nor GraphQL. crawlgate is its gateway with the real store, bus, hub and limits; its updates are made up.',
      'Memory is the resident set of the whole process. Before the first watcher comes, crawlgate has more of it than the bare server will have with all of them: the embedded store with its thread, REST, GraphQL, and the compiler that strips types. What grows with the watchers is in the last column.',
    ],
  };
};
