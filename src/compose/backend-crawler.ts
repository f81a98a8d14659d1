import type { Config } from '#config/config.ts';
import type { Log } from '#telemetry.ts';
import { AHEAD_MS, type Backend, STOP_LIMITS } from './backend.ts';
import { type CrawlerHost, createCrawlerHost } from './crawler-host.ts';
import type { CrawlerThreadData } from './crawler-thread-data.ts';
import type { ProcessMetrics } from './metrics.ts';
import { readVersion } from './version.ts';

type Deps = {
  readonly config: Config;
  readonly backend: Backend;
  readonly metrics: ProcessMetrics;
  /** The address under which a site's owner finds who crawls; asked for when a thread starts. Null: there is none. */
  readonly contact: () => string | null;
  readonly log: Log;
};

/** The crawler thread of a process, on the store and the bus of its backend. */
export const createBackendCrawler = ({ config, backend, metrics, contact, log }: Deps): CrawlerHost =>
  createCrawlerHost({
    entry: new URL('./crawler-thread.ts', import.meta.url),
    prepare() {
      const { link, transferList } = backend.linkThread();
      const counted = metrics.threadStart('crawler');
      const address = contact();
      const userAgent = `crawlgate/${readVersion()}${address === null ? '' : ` (+${address})`}`;
      const workerData: CrawlerThreadData = { config, userAgent, link, ...counted.workerData, stopMs: STOP_LIMITS.crawler - AHEAD_MS };
      return { workerData, transferList: [...transferList, ...counted.transferList] };
    },
    onEnded: backend.loseThread,
    log,
  });
