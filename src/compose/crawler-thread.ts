import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { createAnalyze } from '#analysis/create-analyze.ts';
import { RULES } from '#analysis/registry.ts';
import { createCoalescedPublisher } from '#bus/coalesce.ts';
import { createCrawler } from '#crawler/create-crawler.ts';
import { parseNetwork } from '#domain/address.ts';
import { IDEMPOTENCY_MS } from '#domain/crawl.ts';
import type { LeaseToken } from '#domain/ids.ts';
import { countCrawls, measureRuns } from '#metrics/crawls.ts';
import { measureStore } from '#metrics/store.ts';
import { createStderrLog } from '#telemetry.ts';
import { createSweeper } from '#worker/sweeper.ts';
import { systemTimers as timers } from '#worker/timers.ts';
import { createWorker } from '#worker/worker.ts';
import type { ThreadParts } from './backend.ts';
import { RUNNING } from './crawler-host.ts';
import type { CrawlerThreadData } from './crawler-thread-data.ts';
import { serveThreadMetrics } from './metrics.ts';
import { releaseStartupHeap } from './startup-heap.ts';
import { openThreadLink } from './thread-link.ts';

/** Of workers on one MongoDB, which may be many. */
const WAKE_SPREAD_MS = 50;
/** Much longer than it takes to resume a crawl. */
const TURN_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** The module that the crawler thread runs: it claims, fetches, analyses and sweeps until it is told to stop. */
const { config, userAgent, link, metricsPort, stopMs } = workerData as CrawlerThreadData;
if (parentPort === null) throw new Error('The crawler thread was not started as a thread.');
const main = parentPort;
const log = createStderrLog(config.logLevel);
const meter = serveThreadMetrics('crawler', metricsPort);
const stopAsked = new AbortController();
main.once('message', () => stopAsked.abort());

try {
  const parts = await openThreadLink(link, { config, log, meter, signal: stopAsked.signal });
  await releaseStartupHeap();
  crawl(parts);
  main.postMessage(RUNNING);
} catch (error) {
  if (!stopAsked.signal.aborted) throw error;
  main.close();
}

function crawl({ store: opened, bus }: ThreadParts): void {
  const store = measureStore(opened, meter, countCrawls(meter));
  const publisher = createCoalescedPublisher({ bus, after: timers.after });
  const { publish } = publisher;
  const crawler = createCrawler({
    store,
    publish,
    settings: {
      concurrency: config.crawlConcurrency,
      ratePerHost: config.crawlRatePerHost,
      allowNetworks: config.allowNetworks.map(parseNetwork),
      userAgent,
    },
    log,
    now: Date.now,
    random: Math.random,
  });
  const worker = createWorker({
    store,
    bus,
    runCrawl: crawler,
    analyze: createAnalyze({ store, rules: RULES }),
    publish,
    onLeaseLost: () => onLeaseLost(),
    random: Math.random,
    newToken: () => randomUUID() as string as LeaseToken,
    settings: {
      crawls: config.workerCrawls,
      leaseMs: config.leaseSeconds * 1_000,
      turnMs: TURN_MS,
      wakeSpreadMs: link.kind === 'shared' ? WAKE_SPREAD_MS : 0,
      stopMs,
    },
    timers,
    log,
  });
  const onLeaseLost = measureRuns(meter, { capacity: config.workerCrawls, running: worker.running });
  const retention = { crawlsMs: config.retentionDays * DAY_MS, idempotencyMs: IDEMPOTENCY_MS };
  const sweeper = createSweeper({ store, bus, id: randomUUID(), settings: { retention }, timers, random: Math.random, log });

  async function stop(): Promise<void> {
    const closings = [worker.stop, sweeper.stop, async () => publisher.flush(), crawler.close, bus.close, store.close];
    for (const close of closings) await close().catch((error: unknown) => log.error({ err: error }, 'the crawler thread stops uncleanly'));
    main.close();
  }

  worker.start();
  sweeper.start();
  if (stopAsked.signal.aborted) void stop();
  else stopAsked.signal.addEventListener('abort', () => void stop());
}
