import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONNECTIONS, load, type Measured, type Server } from './lib/load.ts';
import { cpuSecondsOf, startNode } from './lib/process.ts';
import { type Bench, expectSame, milliseconds, perSecond, ratio } from './lib/report.ts';
import { seedCrawls, someCrawlIds } from './lib/seed.ts';
import { withService } from './lib/service.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';

const STOCK = fileURLToPath(new URL('./baselines/stock-yoga.ts', import.meta.url));
const QUERY = 'query($id: ID!) { crawl(id: $id) { id host state urlsCrawled findingsCount error } }';

const bodyOf = (id: string): string => JSON.stringify({ query: QUERY, variables: { id } });

/** Asks for one of the crawls after the other. */
const scriptOf = (ids: readonly string[]): string => `
local bodies = { ${ids.map((id) => `'${bodyOf(id)}'`).join(', ')} }
local headers = { ["Content-Type"] = "application/json" }
local next = 0
request = function()
  next = next % #bodies + 1
  for name, value in pairs(wrk.headers) do headers[name] = value end
  return wrk.format("POST", "/graphql", headers, bodies[next])
end`;

async function ask({ address, headers }: Server, id: string): Promise<unknown> {
  const answer = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: bodyOf(id),
  });
  return answer.json();
}

type Contender = 'stock' | 'crawlgate';
const LABELS: Readonly<Record<Contender, string>> = { stock: 'stock Yoga and Pothos', crawlgate: 'crawlgate' };

/** Both answer the same query from one file, under the same load. */
export const graphql: Bench = ({ smoke, rounds }) =>
  withTempDir(async (directory) => {
    const count = smoke ? 100 : 10_000;
    const seconds = smoke ? 1 : 5;
    const allRounds = smoke ? 1 : rounds;
    const dataDir = join(directory, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    seedCrawls(await withService({ dataDir }, async ({ databaseFile }) => databaseFile), count);
    return withService({ dataDir }, async ({ address, key, databaseFile, cpuSeconds }) => {
      const process = await startNode([STOCK, databaseFile], {}, /^http:/);
      try {
        const servers: Readonly<Record<Contender, Server>> = {
          stock: { address: process.readyLine, headers: {}, cpuSeconds: () => cpuSecondsOf(process.pid) },
          crawlgate: { address, headers: { authorization: `Bearer ${key}` }, cpuSeconds },
        };
        const ids = someCrawlIds(databaseFile, Math.min(count, 1_000));
        const [id = ''] = ids;
        expectSame('the answer', JSON.stringify(await ask(servers.stock, id)), JSON.stringify(await ask(servers.crawlgate, id)));
        const script = scriptOf(ids);
        const contenders = (duration: number): Record<Contender, () => Promise<Measured>> => ({
          stock: () => load(servers.stock, script, duration),
          crawlgate: () => load(servers.crawlgate, script, duration),
        });
        await interleave<Contender, Measured>(1, contenders(1));
        const results = await interleave<Contender, Measured>(allRounds, contenders(seconds));
        const of = (name: Contender, field: keyof Measured): number => median(results[name].map((measured) => measured[field]));
        const faster = ratio(of('crawlgate', 'requestsPerSecond') / of('stock', 'requestsPerSecond'));
        return {
          name: 'graphql',
          title: `\`${QUERY}\` by POST under wrk, ${CONNECTIONS} connections, ${seconds} s a round, ${allRounds} interleaved rounds, medians.`,
          head: ['', 'requests/s', 'p50', 'p99', 'CPU a request'],
          rows: (['stock', 'crawlgate'] as const).map((name) => [
            LABELS[name],
            perSecond(of(name, 'requestsPerSecond')),
            milliseconds(of(name, 'p50Ms')),
            milliseconds(of(name, 'p99Ms')),
            `${of(name, 'cpuMicroseconds').toFixed(1)} µs`,
          ]),
          targets: [{ what: 'requests/s against stock Yoga and Pothos', measured: faster, target: '≥ 2.0 ×' }],
          notes: [
            `Each reads ${ids.length.toLocaleString('en')} crawls in turn, the id in the variables, and gives the same answers. crawlgate authenticates the key, checks scope, tenant and the limits of depth, cost, aliases, tokens and body, masks errors, and sends a request id; the stock server does none of it.`,
            'READ_LIMIT_PER_MINUTE=0. Queries that went well are logged at level debug.',
          ],
        };
      } finally {
        await process.stop();
      }
    });
  });
