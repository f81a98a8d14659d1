import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type RunningCluster, withCluster } from './lib/cluster.ts';
import { withMongo } from './lib/mongo.ts';
import { cpuSecondsOf } from './lib/process.ts';
import { type Bench, expectSame, perSecond, ratio } from './lib/report.ts';
import { interleave, median } from './lib/stats.ts';

const SITES = 4;
const ANSWER_MS = 100;
/** What is measured is how the work is shared: sites this slow leave the machine idle. */
const CONCURRENCY = 2;
const POLL_MS = 100;

type Listed = {
  readonly id: string;
  readonly state: string;
  readonly urlsCrawled: number;
  readonly startedAt: string;
  readonly finishedAt: string;
};
type Measured = { readonly seconds: number; readonly cpuSeconds: number };

/** Sites of `pages` pages, each on a port of its own; every answer takes 100 ms. */
async function withSites<T>(pages: number, use: (origins: readonly string[]) => Promise<T>): Promise<T> {
  const links = Array.from({ length: pages - 1 }, (_, at) => `<a href="/${at}">${at}</a>`).join(' ');
  const servers = Array.from({ length: SITES }, () =>
    createServer(({ url }, response) => {
      setTimeout(() => {
        if (url === '/robots.txt') response.writeHead(404).end();
        else
          response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>${url}</title>${url === '/' ? links : ''}`);
      }, ANSWER_MS);
    }),
  );
  try {
    return await use(
      await Promise.all(
        servers.map(async (server) => {
          await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
          const address = server.address();
          return address !== null && typeof address === 'object' ? `http://127.0.0.1:${address.port}/` : '';
        }),
      ),
    );
  } finally {
    for (const server of servers) server.closeAllConnections();
    await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  }
}

/** From the first accepted start to the last end, by the store's clock. */
async function crawlAll({ call, cluster }: RunningCluster, origins: readonly string[], pages: number): Promise<Measured> {
  const cpu = async (): Promise<number> =>
    (await Promise.all(cluster.workers.map(({ pid }) => cpuSecondsOf(pid)))).reduce((sum, seconds) => sum + seconds, 0);
  const cpuBefore = await cpu();
  await Promise.all(origins.map((url) => call('POST', '/v1/crawls', 202, { url, maxUrls: 10_000 })));
  let data: readonly Listed[];
  do {
    await delay(POLL_MS);
    ({ data } = await call<{ data: readonly Listed[] }>('GET', '/v1/crawls', 200));
  } while (data.some(({ state }) => state === 'running'));
  expectSame('crawls', origins.length, data.length);
  for (const { state, urlsCrawled } of data) {
    expectSame('the state of a crawl', 'done', state);
    expectSame('its pages', pages, urlsCrawled);
  }
  const { used } = await call<{ used: number }>('GET', '/v1/usage', 200);
  expectSame('pages charged', pages * origins.length, used);
  const begun = Math.min(...data.map(({ startedAt }) => Date.parse(startedAt)));
  const ended = Math.max(...data.map(({ finishedAt }) => Date.parse(finishedAt)));
  return { seconds: (ended - begun) / 1_000, cpuSeconds: (await cpu()) - cpuBefore };
}

/** Crawls of slow sites by one worker process and by four. */
export const workers: Bench = async ({ smoke, rounds }) => {
  const pages = smoke ? 10 : 100;
  const allRounds = smoke ? 1 : rounds;
  const env = { WORKER_CRAWLS: '1', CRAWL_CONCURRENCY: String(CONCURRENCY) };
  const measure = (count: number): Promise<Measured> =>
    withMongo((storeUrl) =>
      withCluster({ storeUrl, gateways: 1, workers: count, env }, (running) =>
        withSites(pages, (origins) => crawlAll(running, origins, pages)),
      ),
    );
  const results = await interleave<'one' | 'four', Measured>(allRounds, { one: () => measure(1), four: () => measure(4) });
  const of = (name: 'one' | 'four', field: keyof Measured): number => median(results[name].map((measured) => measured[field]));
  const row = (label: string, name: 'one' | 'four'): string[] => [
    label,
    `${of(name, 'seconds').toFixed(1)} s`,
    perSecond((SITES * pages) / of(name, 'seconds')),
    `${of(name, 'cpuSeconds').toFixed(1)} s`,
  ];
  const sites = (SITES * pages * ANSWER_MS) / 1_000 / CONCURRENCY;
  const ratios = results.four.map(({ seconds }, round) => seconds / (results.one[round]?.seconds ?? Number.NaN));
  return {
    name: 'workers',
    title: `${SITES} sites of ${pages} pages that answer after ${ANSWER_MS} ms, ${CONCURRENCY} requests at once to each, WORKER_CRAWLS=1, MongoDB and Redis, ${allRounds} interleaved rounds, medians.`,
    head: ['', 'all four crawls', 'pages/s', 'CPU of the workers'],
    rows: [
      ['the answers of the sites alone, one after the other', `${sites.toFixed(1)} s`, perSecond((SITES * pages) / sites), '–'],
      row('1 worker', 'one'),
      row('4 workers', 'four'),
    ],
    targets: [
      {
        what: 'time of 4 workers against 1',
        measured: `${ratio(of('four', 'seconds') / of('one', 'seconds'))} (rounds ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
        target: '≤ 0.3 ×',
      },
    ],
    notes: [
      'Real processes, started anew each round: one gateway, the workers, Redis, and the MongoDB of MONGODB_TEST_URL or the test server. From the first accepted start to the last end, by the clock of the store; processes are ready before.',
      'The sites are slow and few requests go to each at once, so that the machine has time left: the bench shows that crawls are shared, not how many pages a machine can take (see crawl).',
      'Every crawl must end done, with every page, and the quota be charged for each page once.',
    ],
  };
};
