import { MessageChannel } from 'node:worker_threads';
import { describeRule } from '#analysis/registry.ts';
import { createLocalBus, type LocalBus } from '#bus/local.ts';
import { parseNetwork } from '#domain/address.ts';
import { baseUrlOf } from '#http/base-url.ts';
import { createHttpServer, type HttpServer } from '#http/server.ts';
import { createService } from '#service/service.ts';
import { openSqliteStore, type SqliteStore } from '#store/sqlite/open.ts';
import { createStderrLog } from '#telemetry.ts';
import { systemTimers } from '#worker/timers.ts';
import type { Config } from '../config.ts';
import { createCrawlerHost, type ThreadStart } from './crawler-host.ts';
import type { CrawlerThreadData } from './crawler-thread-data.ts';
import { ensureDataDir } from './data-dir.ts';
import { ensureDefaultAccount, type KeyNews } from './first-start.ts';
import { createShutdown } from './shutdown.ts';
import { readVersion } from './version.ts';
import { freeYoungGenerations } from './young-generation.ts';

export type RunningService = {
  /** The address that is listened on, `http://HOST:PORT`. */
  readonly url: string;
  readonly keyNews: KeyNews;
  /** Ordered, bounded to ten seconds; never rejects. Call it once. */
  stop(): Promise<void>;
};

export type RunServiceOptions = {
  readonly config: Config;
  /** Somebody reads what is printed. */
  readonly isTerminal: boolean;
  /** Aborted when a stop that is under way is to be cut short. */
  readonly cut: AbortSignal;
};

/** The longest that each step of the stop may take, in milliseconds; ten seconds with all that is between them. */
const STOP_LIMITS = { http: 2_500, crawler: 5_000, bus: 100, store: 2_000 };
/** How much sooner than its step a part is told to be done by itself, in milliseconds. */
const AHEAD_MS = 500;

/**
 * Starts the role `all`: HTTP in this thread, the store's writer and the crawler in one each. Throws, with everything stopped that had
 * been started, when a part cannot start.
 */
export async function runService({ config, isTerminal, cut }: RunServiceOptions): Promise<RunningService> {
  const log = createStderrLog(config.logLevel);
  const shutdown = createShutdown(log, cut);
  try {
    ensureDataDir(config.dataDir);
    freeYoungGenerations();
    const sqlite = await openSqliteStore({ path: config.storePath, threadEntry: new URL('./store-thread.ts', import.meta.url), log });
    const { store } = sqlite;
    shutdown.add('store', STOP_LIMITS.store, store.close);
    const bus = createLocalBus({ log });
    shutdown.add('bus', STOP_LIMITS.bus, bus.close);
    const allowedNetworks = config.allowNetworks.map(parseNetwork);
    const { readLimitPerMinute, publicUrl } = config;
    const service = createService({ store, bus, describeRule, allowedNetworks, readLimitPerMinute, timers: systemTimers, log });
    const isReady = (): Promise<boolean> => store.ping().then(() => true);
    const http = createHttpServer({
      service,
      log,
      publicUrl,
      isReady,
      timers: systemTimers,
      corsOrigins: config.corsOrigins,
      graphqlLimits: { introspection: config.graphqlIntrospection },
    });

    let url = '';
    const crawler = createCrawlerHost({
      entry: new URL('./crawler-thread.ts', import.meta.url),
      prepare: () => crawlerThreadStart({ config, sqlite, bus, userAgent: `crawlgate/${readVersion()} (+${publicUrl ?? url})` }),
      // its crawls are resumed now, and not only when their leases expire
      async onEnded() {
        for (const snapshot of await sqlite.expireLeases()) await bus.publish(snapshot);
      },
      log,
    });
    shutdown.add('crawler', STOP_LIMITS.crawler, crawler.stop);
    shutdown.add('http', STOP_LIMITS.http, () => http.stop({ deadlineMs: STOP_LIMITS.http - AHEAD_MS }));
    url = await listen(http, config);
    // After all that commonly fails: a secret must not be made that nobody is told.
    const keyNews = await ensureDefaultAccount({ accounts: store, config, isTerminal });
    crawler.start();
    log.info({ url, version: readVersion() }, 'ready');
    const stop = async (): Promise<void> => {
      log.info('stopping');
      await shutdown.run();
      log.info('stopped');
    };
    return { url, keyNews, stop };
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

type CrawlerThreadParts = { readonly config: Config; readonly sqlite: SqliteStore; readonly bus: LocalBus; readonly userAgent: string };

function crawlerThreadStart({ config, sqlite, bus, userAgent }: CrawlerThreadParts): ThreadStart {
  const { port1, port2: busPort } = new MessageChannel();
  bus.attach(port1);
  const storePort = sqlite.link();
  const workerData: CrawlerThreadData = { config, userAgent, storePort, busPort, stopMs: STOP_LIMITS.crawler - AHEAD_MS };
  return { workerData, transferList: [storePort, busPort] };
}

const PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'something else listens there; set PORT to a free one, or to 0 for any',
  EACCES: 'this user may not take that port; set PORT to one above 1023',
  EADDRNOTAVAIL: 'HOST is no address of this machine',
  ENOTFOUND: 'HOST is a name that cannot be resolved',
};

async function listen(http: HttpServer, config: Config): Promise<string> {
  try {
    return baseUrlOf(await http.listen(config));
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new Error(`cannot listen on ${baseUrlOf(config)}: ${PROBLEMS[code] ?? message}`, { cause: error });
  }
}
