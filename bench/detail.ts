import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONNECTIONS, load, type Measured, type Server } from './lib/load.ts';
import { cpuSecondsOf, startNode } from './lib/process.ts';
import { type Bench, expectSame, milliseconds, perSecond, ratio } from './lib/report.ts';
import { seedCrawls, someCrawlIds } from './lib/seed.ts';
import { type Service, withService } from './lib/service.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';

const BARE = fileURLToPath(new URL('./baselines/bare-detail.ts', import.meta.url));

/** Asks for one of the crawls after the other. */
const scriptOf = (ids: readonly string[]): string => `
local ids = { ${ids.map((id) => `"${id}"`).join(', ')} }
local next = 0
request = function()
  next = next % #ids + 1
  return wrk.format("GET", "/v1/crawls/" .. ids[next])
end`;

const serverOf = ({ address, key, cpuSeconds }: Service): Server => ({ address, headers: { authorization: `Bearer ${key}` }, cpuSeconds });

type Contender = 'bare' | 'crawlgate' | 'debug';
const LABELS: Readonly<Record<Contender, string>> = {
  bare: 'bare node:http + node:sqlite',
  crawlgate: 'crawlgate',
  debug: 'crawlgate, LOG_LEVEL=debug',
};

/** A service over `count` stored crawls. */
async function withCrawls<T>(
  dataDir: string,
  count: number,
  env: Record<string, string>,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  await mkdir(dataDir, { mode: 0o700 });
  const file = await withService({ dataDir }, async ({ databaseFile }) => databaseFile);
  seedCrawls(file, count);
  return withService({ dataDir, env }, use);
}

/** All read their crawls from equal files, under the same load. */
export const detail: Bench = ({ smoke, rounds }) =>
  withTempDir((directory) => {
    const count = smoke ? 100 : 10_000;
    const seconds = smoke ? 1 : 5;
    const allRounds = smoke ? 1 : rounds;
    return withCrawls(join(directory, 'data'), count, {}, (service) =>
      withCrawls(join(directory, 'debug'), count, { LOG_LEVEL: 'debug' }, async (talkative) => {
        const bare = await startNode([BARE, service.databaseFile], {}, /^http:/);
        try {
          const ids = someCrawlIds(service.databaseFile, Math.min(count, 1_000));
          const [id = ''] = ids;
          const expected = await (await fetch(`${bare.readyLine}/v1/crawls/${id}`)).text();
          expectSame('the body', expected, JSON.stringify(await service.call('GET', `/v1/crawls/${id}`, 200)));
          const script = scriptOf(ids);
          const bareServer = { address: bare.readyLine, headers: {}, cpuSeconds: () => cpuSecondsOf(bare.pid) };
          const otherScript = scriptOf(someCrawlIds(talkative.databaseFile, ids.length));
          const contenders = (duration: number): Record<Contender, () => Promise<Measured>> => ({
            bare: () => load(bareServer, script, duration),
            crawlgate: () => load(serverOf(service), script, duration),
            debug: () => load(serverOf(talkative), otherScript, duration),
          });
          await interleave<Contender, Measured>(1, contenders(1));
          const results = await interleave<Contender, Measured>(allRounds, contenders(seconds));
          const of = (name: Contender, field: keyof Measured): number => median(results[name].map((measured) => measured[field]));
          const rateOf = (name: Contender): string => ratio(of(name, 'requestsPerSecond') / of('bare', 'requestsPerSecond'));
          return {
            name: 'detail',
            title: `\`GET /v1/crawls/{id}\` under wrk, ${CONNECTIONS} connections, ${seconds} s a round, ${allRounds} interleaved rounds, medians.`,
            head: ['', 'requests/s', 'p50', 'p99', 'CPU a request'],
            rows: (['bare', 'crawlgate', 'debug'] as const).map((name) => [
              LABELS[name],
              perSecond(of(name, 'requestsPerSecond')),
              milliseconds(of(name, 'p50Ms')),
              milliseconds(of(name, 'p99Ms')),
              `${of(name, 'cpuMicroseconds').toFixed(1)} µs`,
            ]),
            targets: [
              { what: 'requests/s against the bare read', measured: rateOf('crawlgate'), target: '≥ 0.5 ×' },
              { what: 'the same with a log line a request', measured: rateOf('debug'), target: 'told' },
            ],
            notes: [
              `Each reads ${ids.length.toLocaleString('en')} crawls in turn and answers the same bodies. crawlgate authenticates the key, checks scope and tenant, and sends ETag and request id; the bare server does none of it. Reads that went well are logged at level debug, so that only the last row writes a line a request.`,
              'READ_LIMIT_PER_MINUTE=0.',
            ],
          };
        } finally {
          await bare.stop();
        }
      }),
    );
  });
