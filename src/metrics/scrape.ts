import { AggregatorRegistry, prometheusContentType } from 'prom-client';
import type { MeasuredFamily, Meter } from './meter.ts';
import type { ThreadMetrics } from './threads.ts';

/** What a scrape is answered with. */
export type Scraped = { readonly contentType: string; readonly text: string };

type Deps = {
  readonly meter: Meter;
  readonly threads?: ThreadMetrics;
  /** Measures what takes a while to measure; bounded, and never rejects. */
  readonly prepare?: () => Promise<void>;
};

/** Reads the metrics of all threads of the process, in Prometheus' text format 0.0.4. Scrapes that come at once share one reading. */
export function createScrape({ meter, threads, prepare }: Deps): () => Promise<Scraped> {
  const up = meter.gauge('crawlgate_thread_up');
  let reading: Promise<Scraped> | null = null;

  async function read(): Promise<Scraped> {
    const [others = []] = await Promise.all([threads?.collect(), prepare?.()]);
    const families: (readonly MeasuredFamily[])[] = [];
    up.set({ thread: 'main' }, 1);
    for (const [thread, answer] of others) {
      up.set({ thread }, answer === null ? 0 : 1);
      if (answer !== null) families.push(answer);
    }
    // no two threads have a series in common: the sum is a union
    const all = AggregatorRegistry.aggregate([await meter.collect(), ...families]);
    return { contentType: prometheusContentType, text: await all.metrics() };
  }

  return () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
}
