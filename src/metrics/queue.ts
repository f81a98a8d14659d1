import type { RunStore } from '#store/store.ts';
import { inTime } from './in-time.ts';
import type { Meter } from './meter.ts';

/** The longest that a scrape waits for the store, in milliseconds. */
const ANSWER_MS = 1_000;

/** Tells what waits for a worker; what this answers is called before each scrape. Never rejects. */
export function measureQueue(meter: Meter, store: Pick<RunStore, 'getQueue'>): () => Promise<void> {
  const waiting = meter.gauge('crawlgate_queue_crawls');
  const oldest = meter.gauge('crawlgate_queue_oldest_seconds');
  return async () => {
    const queue = await inTime(store.getQueue(), ANSWER_MS);
    // of a queue that is not known nothing is told, least of all that it is empty
    if (queue === null) for (const gauge of [waiting, oldest]) gauge.remove();
    else {
      waiting.set(queue.waiting);
      oldest.set(queue.oldestMs / 1_000);
    }
  };
}
