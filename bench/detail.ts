import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startNode } from './lib/process.ts';
import { type Bench, expectSame, milliseconds, perSecond, ratio } from './lib/report.ts';
import { seedCrawls, someCrawlIds } from './lib/seed.ts';
import { withService } from './lib/service.ts';
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

async function load(address: string, script: string, seconds: number, key?: string): Promise<Load> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const measured = await wrk(address, { connections: CONNECTIONS, seconds, script, headers });
  expectSame('answers other than 200', 0, measured.refused);
  return measured;
}

/** Both read the same rows of the same file, under the same load. */
export const detail: Bench = ({ smoke, rounds }) =>
  withTempDir(async (directory) => {
    const dataDir = join(directory, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    const count = smoke ? 100 : 10_000;
    const seconds = smoke ? 1 : 5;
    await withService({ dataDir }, async ({ databaseFile }) => databaseFile).then((file) => seedCrawls(file, count));
    return withService({ dataDir }, async (service) => {
      const bare = await startNode([BARE, service.databaseFile], {}, /^http:/);
      try {
        const ids = someCrawlIds(service.databaseFile, Math.min(count, 1_000));
        const [id = ''] = ids;
        const expected = await (await fetch(`${bare.readyLine}/v1/crawls/${id}`)).text();
        expectSame('the body', expected, JSON.stringify(await service.call('GET', `/v1/crawls/${id}`, 200)));
        const script = scriptOf(ids);
        await load(service.address, script, 1, service.key);
        await load(bare.readyLine, script, 1);
        const results = await interleave<'bare' | 'crawlgate', Load>(smoke ? 1 : rounds, {
          bare: () => load(bare.readyLine, script, seconds),
          crawlgate: () => load(service.address, script, seconds, service.key),
        });
        const of = (name: 'bare' | 'crawlgate', field: keyof Load): number => median(results[name].map((measured) => measured[field]));
        const row = (label: string, name: 'bare' | 'crawlgate'): string[] => [
          label,
          perSecond(of(name, 'requestsPerSecond')),
          milliseconds(of(name, 'p50Ms')),
          milliseconds(of(name, 'p99Ms')),
        ];
        const rate = of('crawlgate', 'requestsPerSecond') / of('bare', 'requestsPerSecond');
        return {
          name: 'detail',
          title: `\`GET /v1/crawls/{id}\` under wrk, ${CONNECTIONS} connections, ${seconds} s a round, ${smoke ? 1 : rounds} interleaved rounds, medians.`,
          head: ['', 'requests/s', 'p50', 'p99'],
          rows: [row('bare node:http + node:sqlite', 'bare'), row('crawlgate', 'crawlgate')],
          targets: [{ what: 'requests/s against the bare read', measured: ratio(rate), target: '≥ 0.5 ×' }],
          notes: [
            `Both read ${ids.length} crawls in turn, of the same database file, and answer the same bodies. crawlgate authenticates the key, checks scope and tenant and sends ETag and rate headers; the bare server does none of it.`,
          ],
        };
      } finally {
        await bare.stop();
      }
    });
  });
