import { createLocalBus } from '#bus/local.ts';
import type { Config, Role } from '#config/config.ts';
import { baseUrlOf } from '#http/base-url.ts';
import { createHttpServer, type HttpServer } from '#http/server.ts';
import { createStderrLog } from '#telemetry.ts';
import { pause, systemTimers } from '#worker/timers.ts';
import { AHEAD_MS, type Backend, type BackendDeps, STOP_LIMITS } from './backend.ts';
import { createBackendCrawler } from './backend-crawler.ts';
import { createBackendService } from './backend-service.ts';
import { ensureDefaultAccount, type KeyNews } from './first-start.ts';
import { createProcessMetrics } from './metrics.ts';
import { checkRole } from './roles.ts';
import { createShutdown, type Shutdown } from './shutdown.ts';
import { releaseStartupHeap } from './startup-heap.ts';
import { setThreadFlags } from './thread-flags.ts';
import { readVersion } from './version.ts';

export type RunningService = {
  /** The address that is listened on, `http://HOST:PORT`. */
  readonly url: string;
  readonly keyNews: KeyNews;
  /** Ordered, bounded to ten seconds; never rejects. Call it once. */
  stop(): Promise<void>;
};

export type RunServiceOptions = {
  readonly config: Config;
  readonly role: Role;
  /** Somebody reads what is printed. */
  readonly isTerminal: boolean;
  /** Aborted when the service is to stop: a start that is under way is given up, and throws the reason. */
  readonly stopped: AbortSignal;
  /** Aborted when a stop that is under way is to be cut short. */
  readonly cut: AbortSignal;
};

/**
 * Starts the parts of a role: HTTP in this thread, the crawler in one of its own; a worker answers by HTTP only how it is. Throws, with
 * everything stopped that had been started, when a part cannot start, and a `ConfigError` when the role cannot be had so.
 */
export async function runService({ config, role, isTerminal, stopped, cut }: RunServiceOptions): Promise<RunningService> {
  checkRole(role, config);
  const log = createStderrLog(config.logLevel);
  const shutdown = createShutdown(log, cut);
  try {
    setThreadFlags(config);
    const metrics = createProcessMetrics();
    const backend = await openBackend({ config, log, shutdown, metrics, signal: stopped });
    const store = metrics.measured(backend.store, role === 'worker' ? 'worker' : 'clients');
    let url = '';
    const crawler =
      role === 'gateway' ? null : createBackendCrawler({ config, backend, metrics, log, contact: () => config.publicUrl ?? url });
    const front = role === 'worker' ? { bus: createLocalBus({ log }) } : await backend.openFront(); // nobody watches a worker
    const http = createHttpServer({
      service: createBackendService({ config, store, front, log }),
      api: role === 'worker' ? null : (await import('#http/api.ts')).api, // most of what is loaded
      log,
      publicUrl: config.publicUrl,
      isReady: async () => {
        await store.ping();
        return role !== 'worker' || crawler?.isRunning() === true;
      },
      timers: systemTimers,
      corsOrigins: config.corsOrigins,
      graphqlLimits: { introspection: config.graphqlIntrospection },
      metrics: metrics.http,
    });
    if (crawler !== null) shutdown.add('crawler', STOP_LIMITS.crawler, crawler.stop);
    shutdown.add('http', STOP_LIMITS.http, () => http.stop({ deadlineMs: STOP_LIMITS.http - AHEAD_MS }));
    url = await listen(http, config);
    // After all that commonly fails: a secret must not be made that nobody is told.
    const keyNews = await ensureDefaultAccount({ accounts: store, config, isTerminal, makesSecret: role === 'all' });
    await releaseStartupHeap();
    crawler?.start();
    if (role === 'worker') await Promise.race([crawler?.running, aborted(stopped)]);
    stopped.throwIfAborted();
    if (role === 'gateway') addDrain({ http, shutdown, drainMs: config.drainSeconds * 1_000 });
    log.info({ url, role, version: readVersion() }, 'ready');
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

/** What only one of the stores needs is loaded with it. */
async function openBackend(deps: BackendDeps): Promise<Backend> {
  const { store, busUrl } = deps.config;
  if (store.kind === 'sqlite') return (await import('./sqlite-backend.ts')).openSqliteBackend(deps, store.path);
  const { openSharedBackend } = await import('./shared-backend.ts');
  return openSharedBackend(deps, { storeUrl: store.url, busUrl: busUrl ?? '' });
}

/** The first step of the stop: gives the balancer time to notice, so that no request of a client meets a connection that ends. */
function addDrain({ http, shutdown, drainMs }: { readonly http: HttpServer; readonly shutdown: Shutdown; readonly drainMs: number }): void {
  shutdown.add('drain', drainMs + AHEAD_MS, (over) => {
    http.drain();
    return pause(systemTimers, drainMs, over);
  });
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve());
  });

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
