import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf, startNode } from './lib/process.ts';
import { type Bench, expectSame, milliseconds, perSecond, ratio } from './lib/report.ts';
import { seedCrawls, someCrawlIds } from './lib/seed.ts';
import { type Service, withService } from './lib/service.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';
import { type Load, wrk } from './lib/wrk.ts';

const BARE = fileURLToPath(new URL('./baselines/bare-detail.ts', import.meta.url));
const CONNECTIONS = 32;

/** Asks for one of the crawls after the other. */
const scriptOf = (ids: readonly string[]): string => `
local ids = { ${ids.map((id) => `"${id}"`).join(', ')} }
local next = 0
request = function()
  next = next % #ids + 1
  return wrk.format("GET", "/v1/crawls/" .. ids[next])
end`;

type Measured = Load & { readonly cpuMicroseconds: number };
type Server = { readonly address: string; readonly headers: Readonly<Record<string, string>>; readonly cpuSeconds: () => Promise<number> };

async function load({ address, headers, cpuSeconds }: Server, script: string, seconds: number): Promise<Measured> {
  const before = await cpuSeconds();
  const measured = await wrk(address, { connections: CONNECTIONS, seconds, script, headers });
  expectSame('answers other than 200', 0, measured.refused);
  return { ...measured, cpuMicroseconds: (((await cpuSeconds()) - before) * 1e6) / (measured.requestsPerSecond * seconds) };
}

const serverOf = ({ address, key, cpuSeconds }: Service): Server => ({ address, headers: { authorization: `Bearer ${key}` }, cpuSeconds });

type Contender = 'bare' | 'crawlgate' | 'quiet';
const LABELS: Readonly<Record<Contender, string>> = {
  bare: 'bare node:http + node:sqlite',
  crawlgate: 'crawlgate',
  quiet: 'crawlgate, LOG_LEVEL=warn',
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
      withCrawls(join(directory, 'quiet'), count, { LOG_LEVEL: 'warn' }, async (quiet) => {
        const bare = await startNode([BARE, service.databaseFile], {}, /^http:/);
        try {
          const ids = someCrawlIds(service.databaseFile, Math.min(count, 1_000));
          const [id = ''] = ids;
          const expected = await (await fetch(`${bare.readyLine}/v1/crawls/${id}`)).text();
          expectSame('the body', expected, JSON.stringify(await service.call('GET', `/v1/crawls/${id}`, 200)));
          const script = scriptOf(ids);
          const bareServer = { address: bare.readyLine, headers: {}, cpuSeconds: () => cpuSecondsOf(bare.pid) };
          const quietScript = scriptOf(someCrawlIds(quiet.databaseFile, ids.length));
          const contenders = (duration: number): Record<Contender, () => Promise<Measured>> => ({
            bare: () => load(bareServer, script, duration),
            crawlgate: () => load(serverOf(service), script, duration),
            quiet: () => load(serverOf(quiet), quietScript, duration),
          });
          await interleave<Contender, Measured>(1, contenders(1));
          const results = await interleave<Contender, Measured>(allRounds, contenders(seconds));
          const of = (name: Contender, field: keyof Measured): number => median(results[name].map((measured) => measured[field]));
          const rateOf = (name: Contender): string => ratio(of(name, 'requestsPerSecond') / of('bare', 'requestsPerSecond'));
          return {
            name: 'detail',
            title: `\`GET /v1/crawls/{id}\` under wrk, ${CONNECTIONS} connections, ${seconds} s a round, ${allRounds} interleaved rounds, medians.`,
            head: ['', 'requests/s', 'p50', 'p99', 'CPU a request'],
            rows: (['bare', 'crawlgate', 'quiet'] as const).map((name) => [
              LABELS[name],
              perSecond(of(name, 'requestsPerSecond')),
              milliseconds(of(name, 'p50Ms')),
              milliseconds(of(name, 'p99Ms')),
              `${of(name, 'cpuMicroseconds').toFixed(1)} µs`,
            ]),
            targets: [
              { what: 'requests/s against the bare read', measured: rateOf('crawlgate'), target: '≥ 0.5 ×' },
              { what: 'the same without a log line a request', measured: rateOf('quiet'), target: 'told' },
            ],
            notes: [
              `Each reads ${ids.length.toLocaleString('en')} crawls in turn and answers the same bodies. crawlgate authenticates the key, checks scope and tenant, sends ETag and request id, and logs each request to a file; the bare server does none of it.`,
              'READ_LIMIT_PER_MINUTE=0.',
            ],
          };
        } finally {
          await bare.stop();
        }
      }),
    );
  });
