import { type TransferListItem, Worker } from 'node:worker_threads';
import type { Log } from '#telemetry.ts';
import { CRAWLER_YOUNG_MB } from './thread-flags.ts';

/** What a new thread is given. */
export type ThreadStart = { readonly workerData: unknown; readonly transferList: readonly TransferListItem[] };

export type CrawlerHostDeps = {
  readonly entry: URL;
  /** Called for each thread: its ports are its own. */
  readonly prepare: () => ThreadStart;
  /** Called after a thread has ended unasked, and waited for before the next one starts. */
  readonly onEnded: () => Promise<void>;
  readonly log: Log;
};

/** What a thread says when it has begun to claim crawls. */
export const RUNNING = 'running';

/** Keeps one crawler thread alive. */
export type CrawlerHost = {
  start(): void;
  /** Whether there is a thread that has said that it runs. */
  isRunning(): boolean;
  /** Resolves when the first thread has said so. */
  readonly running: Promise<void>;
  /** Asks the thread to give its crawls back and waits for its end; ends it by force when `over` is aborted. Memoised. */
  stop(over: AbortSignal): Promise<void>;
};

/**
 * Far above what crawls at their bounds need. A thread that reaches it has a defect: it ends, its crawls are resumed by the next
 * one, and the API never notices.
 */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: CRAWLER_YOUNG_MB };

const FIRST_BACKOFF_MS = 250;
const LONGEST_BACKOFF_MS = 10_000;
/** A thread that has lived this long starts the backoff anew. */
const SOUND_MS = 60_000;

/** A thread that ends before it is asked to is replaced, after a pause that doubles. */
export function createCrawlerHost({ entry, prepare, onEnded, log }: CrawlerHostDeps): CrawlerHost {
  let thread: Worker | null = null;
  let pending: NodeJS.Timeout | undefined;
  let backoffMs = FIRST_BACKOFF_MS;
  let stopped: Promise<void> | null = null;
  let isRunning = false;
  const running = Promise.withResolvers<void>();

  function start(): void {
    const startedAt = performance.now();
    const { workerData, transferList } = prepare();
    const started = new Worker(entry, { name: 'crawler', workerData, transferList: [...transferList], resourceLimits: RESOURCE_LIMITS });
    thread = started;
    started.on('error', (error) => log.error({ err: error }, 'the crawler thread failed'));
    started.on('message', (message) => {
      isRunning = message === RUNNING;
      if (isRunning) running.resolve();
    });
    started.on('exit', (code) => {
      thread = null;
      isRunning = false;
      if (stopped !== null) return;
      if (performance.now() - startedAt > SOUND_MS) backoffMs = FIRST_BACKOFF_MS;
      log.error({ code, backoffMs }, 'the crawler thread ended and is started again');
      const pause = backoffMs;
      backoffMs = Math.min(LONGEST_BACKOFF_MS, backoffMs * 2);
      void tidyUp().then(() => {
        if (stopped === null) pending = setTimeout(start, pause);
      });
    });
  }

  async function tidyUp(): Promise<void> {
    try {
      await onEnded();
    } catch (error) {
      log.warn({ err: error }, 'what the crawler thread left behind is tidied up later');
    }
  }

  async function end(over: AbortSignal): Promise<void> {
    clearTimeout(pending);
    const ending = thread;
    if (ending === null) return;
    const ended = new Promise<void>((resolve) => ending.once('exit', () => resolve()));
    over.addEventListener('abort', () => void ending.terminate());
    ending.postMessage('stop');
    await ended;
  }

  return { start, isRunning: () => isRunning, running: running.promise, stop: (over) => (stopped ??= end(over)) };
}
