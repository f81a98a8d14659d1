import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { BareCrawlResult } from './baselines/bare-crawl.ts';
import type { EngineCrawlResult } from './baselines/engine-crawl.ts';
import { PYTHON_DOC, withNginx } from './lib/nginx.ts';
import { run } from './lib/process.ts';
import { type Bench, expectSame, mebibytes, perSecond, ratio, WrongWork } from './lib/report.ts';
import { type Service, withService } from './lib/service.ts';
import { interleave, median } from './lib/stats.ts';
import { withTempDir } from './lib/temp.ts';

const BARE = fileURLToPath(new URL('./baselines/bare-crawl.ts', import.meta.url));
const ENGINE = fileURLToPath(new URL('./baselines/engine-crawl.ts', import.meta.url));
const CONCURRENCY = 16;
const MAX_DEPTH = 10;
const POLL_MS = 50;

type Detail = {
  readonly state: string;
  readonly urlsCrawled: number;
  readonly findingsCount: number | null;
  readonly error: string | null;
};
type Measured = {
  readonly pages: number;
  readonly findings: number;
  /** From the accepted start to the end of the fetching, and from there to the end; by the store's clock, as its events have it. */
  readonly fetchSeconds: number;
  readonly analysisSeconds: number;
  readonly cpuSeconds: number;
  readonly idleKiB: number;
  readonly peakKiB: number;
};

/** The times of a crawl's events, once the relay has moved them to the log. */
async function eventTimes(databaseFile: string, crawlId: string): Promise<ReadonlyMap<string, number>> {
  const database = new DatabaseSync(databaseFile, { readOnly: true });
  try {
    const read = database.prepare('select type, at from events where crawl_id = ?');
    for (const deadline = Date.now() + 10_000; Date.now() < deadline; await delay(POLL_MS)) {
      const times = new Map(read.all(crawlId).map(({ type, at }) => [String(type), Number(at)]));
      if (times.has('crawl.done')) return times;
    }
    throw new WrongWork('the events of the crawl did not reach the log');
  } finally {
    database.close();
  }
}

async function crawlOnce(service: Service, url: string, maxUrls: number): Promise<Measured> {
  await service.rest();
  const idle = await service.memory();
  const cpuBefore = await service.cpuSeconds();
  const { id } = await service.call<{ id: string }>('POST', '/v1/crawls', 202, { url, maxUrls, maxDepth: MAX_DEPTH });
  let detail: Detail;
  do {
    await delay(POLL_MS);
    detail = await service.call<Detail>('GET', `/v1/crawls/${id}`, 200);
  } while (detail.state === 'running');
  const cpuSeconds = (await service.cpuSeconds()) - cpuBefore;
  if (detail.state !== 'done' || detail.findingsCount === null) throw new WrongWork(`the crawl ended ${JSON.stringify(detail)}`);
  const times = await eventTimes(service.databaseFile, id);
  const at = (type: string): number => times.get(type) ?? Number.NaN;
  return {
    pages: detail.urlsCrawled,
    findings: detail.findingsCount,
    fetchSeconds: (at('crawl.analyzing') - at('crawl.started')) / 1000,
    analysisSeconds: (at('crawl.done') - at('crawl.analyzing')) / 1000,
    cpuSeconds,
    idleKiB: idle.residentKiB,
    peakKiB: (await service.memory()).peakKiB,
  };
}

/** A baseline, in a process of its own. */
async function programOnce(file: string, url: string, maxUrls: number, more: readonly string[] = []): Promise<Measured> {
  const out = await run(process.execPath, [file, url, String(maxUrls), String(MAX_DEPTH), String(CONCURRENCY), ...more]);
  const { fetched, failed, seconds, cpuSeconds, idleKiB, peakKiB } = JSON.parse(out) as BareCrawlResult | EngineCrawlResult;
  expectSame('pages that were not fetched', 0, failed);
  return { pages: fetched, findings: 0, fetchSeconds: seconds, analysisSeconds: 0, cpuSeconds, idleKiB, peakKiB };
}

type Contender = 'bare' | 'engine' | 'crawlgate';

/** Each crawls python3-doc behind nginx in a fresh process each round, and must fetch equally many pages. */
export const crawl: Bench = ({ smoke, rounds }) =>
  withTempDir((directory) =>
    withNginx(PYTHON_DOC, directory, async (url) => {
      const maxUrls = smoke ? 40 : 10_000;
      let stores = 0;
      const newDataDir = async (): Promise<string> => {
        const dataDir = join(directory, `data-${stores++}`);
        await mkdir(dataDir, { mode: 0o700 });
        return dataDir;
      };
      const contenders: Record<Contender, () => Promise<Measured>> = {
        bare: () => programOnce(BARE, url, maxUrls),
        engine: async () => programOnce(ENGINE, url, maxUrls, [await newDataDir()]),
        crawlgate: async () => {
          const dataDir = await newDataDir();
          const env = { CRAWL_ALLOW_NETWORKS: '127.0.0.0/8', CRAWL_CONCURRENCY: String(CONCURRENCY) };
          return withService({ dataDir, env }, (service) => crawlOnce(service, url, maxUrls));
        },
      };
      const results = await interleave<Contender, Measured>(smoke ? 1 : rounds, contenders);
      const [first] = results.bare;
      const [firstOurs] = results.crawlgate;
      if (first === undefined || firstOurs === undefined) throw new RangeError('a bench has at least one round');
      for (const { pages } of Object.values(results).flat()) expectSame('pages', first.pages, pages);
      // Which forty pages are the first is chance, and with them what is found.
      if (!smoke) for (const { findings } of results.crawlgate) expectSame('findings', firstOurs.findings, findings);
      const of = (name: Contender, value: (measured: Measured) => number): number => median(results[name].map(value));
      const row = (label: string, name: Contender): string[] => [
        label,
        String(first.pages),
        perSecond(of(name, (m) => m.pages / m.fetchSeconds)),
        perSecond(of(name, (m) => m.pages / (m.fetchSeconds + m.analysisSeconds))),
        `${of(name, (m) => m.fetchSeconds).toFixed(2)} s`,
        name !== 'crawlgate' ? '–' : `${of(name, (m) => m.analysisSeconds).toFixed(2)} s`,
        `${of(name, (m) => m.cpuSeconds).toFixed(2)} s`,
        mebibytes(of(name, (m) => m.idleKiB)),
        mebibytes(of(name, (m) => m.peakKiB)),
      ];
      const rateOf = (name: Contender): number => of(name, (m) => m.pages / m.fetchSeconds) / of('bare', (m) => m.pages / m.fetchSeconds);
      // Contenders of one round ran next to each other: their ratios tell how far the machine's noise reaches.
      const rangeOf = (name: Contender): string => {
        const rates = results[name].map((m, round) => (results.bare[round]?.fetchSeconds ?? Number.NaN) / m.fetchSeconds);
        return `${ratio(rateOf(name))} (rounds ${Math.min(...rates).toFixed(2)} to ${Math.max(...rates).toFixed(2)})`;
      };
      const wholeRate =
        of('crawlgate', (m) => m.pages / (m.fetchSeconds + m.analysisSeconds)) / of('bare', (m) => m.pages / m.fetchSeconds);
      const extraKiB = of('crawlgate', (m) => m.peakKiB) - of('bare', (m) => m.peakKiB);
      return {
        name: 'crawl',
        title: `python3-doc behind nginx on loopback, ${CONCURRENCY} concurrent, ${smoke ? 1 : rounds} interleaved rounds, medians.`,
        head: ['', 'pages', 'pages/s fetching', 'pages/s to the end', 'fetching', 'analysis', 'CPU', 'idle', 'peak'],
        rows: [row('bare loop', 'bare'), row('crawler and store alone', 'engine'), row('crawlgate', 'crawlgate')],
        targets: [
          { what: 'pages/s while fetching, against the bare loop', measured: rangeOf('crawlgate'), target: '≥ 0.85 ×' },
          { what: 'the same of the crawler and its store alone', measured: rangeOf('engine'), target: 'told' },
          { what: 'pages/s to the end, analysis included', measured: ratio(wholeRate), target: 'told' },
          { what: 'peak memory above the bare loop', measured: mebibytes(extraKiB), target: '≤ 150 MB (143 MiB)' },
        ],
        notes: [
          `crawlgate is a fresh \`serve\` with everything on (durable store, robots.txt, guard, quota, leases, analysis with ${firstOurs.findings} findings), driven by REST; its time runs from the accepted POST.`,
          'The bare loop is one thread that stores nothing (baselines/bare-crawl.ts); it too is a fresh process each round.',
          'What takes the rest, from processor profiles of the crawler thread: Crawlee, with its request objects, time limits and task loop, about 0.1 s a crawl; finding the encoding, following links and handing batches over, together about as much; more garbage collection. Parsing costs the same in both. What the service adds to the crawler and its store alone is not traced to one cause: the bounds of the thread and the size of its young heap were tried, and change nothing.',
          'Other work on the machine weighs more on crawlgate, which uses more threads than the bare loop: the range over the rounds is told beside the median.',
          'Memory is the resident set of the process, all its threads together, as the kernel counts it.',
        ],
      };
    }),
  );
