import { EventEmitter } from 'node:events';
import {
  BasicCrawler,
  Configuration,
  type EventManager,
  type KeyValueStore,
  log,
  Request,
  type RequestQueue,
  type StorageClient,
} from '@crawlee/basic';
import type { EpochMs } from '#domain/ids.ts';
import type { Entry, Frontier } from './frontier.ts';
import { MAX_RETRIES } from './limits.ts';

/** Thrown by a visit: the page is worth another attempt, at its `retryAt`. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
}

export type Drive = {
  /** Resolves when the frontier is finished and every visit has ended. */
  readonly run: () => Promise<void>;
};

type Options = {
  readonly frontier: Pick<Frontier, 'take' | 'isReady' | 'isFinished' | 'retry' | 'counts'>;
  readonly concurrency: number;
  readonly visit: (entry: Entry) => Promise<void>;
  /** A visit failed with something else than `RetryLater`. */
  readonly onError: (error: unknown) => void;
  /** The clock of `retryAt`. */
  readonly now: () => EpochMs;
  readonly signal: AbortSignal;
};

/** Visits bound themselves; Crawlee's own time limit, the longest that a timer takes, is only not to be in the way. */
const NEVER_SECONDS = (2 ** 31 - 1) / 1000;
const POLL_SECONDS = 0.5;

/**
 * An event manager that tells nothing: Crawlee's own runs `ps` each second, and ends the process where there is none. `onListen` is
 * called when Crawlee begins to listen, which is right after it has installed its SIGINT handler.
 */
const inertEvents = (onListen: () => void): EventManager =>
  ({
    init: async () => {},
    close: async () => {},
    on: onListen,
    off: () => {},
    emit: () => {},
    isInitialized: () => true,
    listenerCount: () => 0,
    listeners: () => [],
    waitForAllListenersToComplete: async () => true,
  }) as Partial<EventManager> as EventManager;

/** Settings that neither `CRAWLEE_*` variables nor a `crawlee.json` can change, and that leave the process as it was. */
function fixedConfiguration(events: EventManager): Configuration {
  const settings: Record<string, unknown> = {
    persistStorage: false,
    purgeOnStart: false,
    memoryMbytes: 2_048,
    availableMemoryRatio: 0.25,
    maxUsedCpuRatio: 0.95,
    persistStateIntervalMillis: 60_000,
    eventManager: events,
    storageClient: {} as StorageClient,
  };
  const maxListeners = EventEmitter.defaultMaxListeners;
  const configuration = new Configuration();
  EventEmitter.defaultMaxListeners = maxListeners;
  for (const [key, value] of Object.entries(settings)) configuration.set(key as never, value);
  configuration.get = ((key: string, fallback?: unknown) => settings[key] ?? fallback) as Configuration['get'];
  return configuration;
}

/** Lets Crawlee's `BasicCrawler` run the visits of a frontier: so many at a time, each page at most `MAX_RETRIES` times again. */
export function createDrive({ frontier, concurrency, visit, onError, now, signal }: Options): Drive {
  const requests = new WeakMap<Entry, Request>();
  const entries = new WeakMap<object, Entry>();
  const timers = new Set<NodeJS.Timeout>();
  const silent = log.child({ level: log.LEVELS.OFF, prefix: 'crawl' });

  function requestOf(entry: Entry): Request {
    const known = requests.get(entry);
    if (known !== undefined) return known;
    const request = new Request({ url: entry.url, uniqueKey: entry.url });
    requests.set(entry, request);
    entries.set(request, entry);
    return request;
  }
  const refuse = async (): Promise<never> => {
    throw new Error('The frontier finds its pages by itself.');
  };
  const notify = (): void => void crawler.autoscaledPool?.notify();

  // Crawlee takes any object whose *own* properties are these as its request queue.
  const queue: Partial<RequestQueue> = {
    isEmpty: async () => signal.aborted || !frontier.isReady(),
    isFinished: async () => signal.aborted || frontier.isFinished(),
    fetchNextRequest: (async () => {
      const entry = signal.aborted ? null : frontier.take();
      return entry === null ? null : requestOf(entry);
    }) as RequestQueue['fetchNextRequest'],
    markRequestHandled: async () => null,
    async reclaimRequest(request) {
      const entry = entries.get(request);
      if (entry === undefined) return null;
      frontier.retry(entry);
      const timer = setTimeout(
        () => {
          timers.delete(timer);
          notify();
        },
        Math.max(0, entry.retryAt - now()) + 1,
      );
      timers.add(timer);
      return null;
    },
    handledCount: async () => 0,
    getTotalCount: () => frontier.counts().known,
    getPendingCount: () => frontier.counts().queued,
    addRequest: refuse,
    addRequestsBatched: refuse,
  };

  // Crawlee's handler would pause the crawl and end the process by its own rules, past our ordered stop: it goes as soon as it comes.
  let ownListeners = new Set<unknown>();
  function removeSigintHandler(): void {
    for (const listener of process.listeners('SIGINT'))
      if (listener.name === 'sigintHandler' && !ownListeners.has(listener)) process.off('SIGINT', listener);
  }

  const crawler = new BasicCrawler(
    {
      requestQueue: queue as RequestQueue,
      // It scales up slowly; how much really goes on at a time is the limiter's to say.
      minConcurrency: concurrency,
      maxConcurrency: concurrency,
      maxRequestRetries: MAX_RETRIES,
      requestHandlerTimeoutSecs: NEVER_SECONDS,
      useSessionPool: false,
      log: silent,
      autoscaledPoolOptions: { maybeRunIntervalSecs: POLL_SECONDS, loggingIntervalSecs: null },
      statisticsOptions: { persistenceOptions: { enable: false }, keyValueStore: {} as KeyValueStore, logIntervalSecs: 3_600 },
      async requestHandler({ request }) {
        const entry = entries.get(request);
        if (entry === undefined) return;
        try {
          await visit(entry);
        } catch (error) {
          if (error instanceof RetryLater) throw error;
          onError(error);
        }
      },
    },
    fixedConfiguration(inertEvents(removeSigintHandler)),
  );

  // `CRAWLEE_INTERNAL_TIMEOUT` beats every option.
  Object.assign(crawler, { internalTimeoutMillis: NEVER_SECONDS * 1000 });

  return {
    async run() {
      ownListeners = new Set(process.listeners('SIGINT'));
      signal.addEventListener('abort', notify, { once: true });
      try {
        await crawler.run();
      } finally {
        signal.removeEventListener('abort', notify);
        for (const timer of timers) clearTimeout(timer);
      }
    },
  };
}
