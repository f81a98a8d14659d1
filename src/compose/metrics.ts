import type { MessagePort, TransferListItem } from 'node:worker_threads';
import type { Scrape } from '#http/metrics.ts';
import type { HttpObserver } from '#http/observe.ts';
import { countCancels } from '#metrics/crawls.ts';
import { createHttpObserver } from '#metrics/http.ts';
import { createMeter, type Meter, type ThreadName } from '#metrics/meter.ts';
import { measureQueue } from '#metrics/queue.ts';
import { measureProcess, measureThread } from '#metrics/runtime.ts';
import { createScrape } from '#metrics/scrape.ts';
import { measureStore } from '#metrics/store.ts';
import { createThreadMetrics, serveMetrics } from '#metrics/threads.ts';
import type { Store } from '#store/store.ts';
import { readVersion } from './version.ts';

/** The metrics of a process, as its main thread has them. */
export type ProcessMetrics = {
  readonly meter: Meter;
  /** For the HTTP server. */
  readonly http: { readonly observer: HttpObserver; readonly scrape: Scrape };
  /** The store as the main thread is to use it, which answers `clients` or is that of a `worker`. Called once. */
  measured(store: Store, part: 'clients' | 'worker'): Store;
  /** What a new thread of that name is started with, besides what else it needs. */
  threadStart(thread: Exclude<ThreadName, 'main'>): { workerData: { metricsPort: MessagePort }; transferList: TransferListItem[] };
};

export function createProcessMetrics(): ProcessMetrics {
  const meter = createMeter('main');
  const threads = createThreadMetrics();
  let prepare = async (): Promise<void> => {};
  measureProcess(meter, readVersion());
  measureThread(meter);
  return {
    meter,
    http: { observer: createHttpObserver(meter), scrape: createScrape({ meter, threads, prepare: () => prepare() }) },
    measured(store, part) {
      // what its crawler does is counted in its own thread, and what waits for one is told by those who answer clients
      if (part === 'worker') return measureStore(store, meter);
      const measured = measureStore(store, meter, countCancels(meter));
      prepare = measureQueue(meter, measured);
      return measured;
    },
    threadStart(thread) {
      const metricsPort = threads.connect(thread);
      return { workerData: { metricsPort }, transferList: [metricsPort] };
    },
  };
}

/** In another thread of the process: lets the main thread read what is counted by the meter that this answers. */
export function serveThreadMetrics(thread: ThreadName, port: MessagePort): Meter {
  const meter = createMeter(thread);
  measureThread(meter);
  serveMetrics(port, meter);
  return meter;
}
