import type { Meter } from './meter.ts';

/** What the bus between processes tells of itself. */
type BusFacts = {
  counts(): { readonly published: number; readonly dropped: number; readonly broken: number; readonly gaps: number };
  isConnected(): boolean;
};

export function measureBus(meter: Meter, { counts, isConnected }: BusFacts): void {
  meter.readCounter('crawlgate_bus_messages_total', () => {
    const { published, dropped, broken } = counts();
    return { published, dropped, broken };
  });
  meter.readCounter('crawlgate_bus_gaps_total', () => ({ all: counts().gaps }));
  meter.gauge('crawlgate_bus_connected', () => Number(isConnected()));
}

/** What the counter of requests that processes share tells of itself. */
type RequestCounterFacts = { isConnected(): boolean; uncounted(): number };

export function measureRequestCounter(meter: Meter, counter: RequestCounterFacts): void {
  meter.readCounter('crawlgate_request_limit_fallbacks_total', () => ({ all: counter.uncounted() }));
  meter.gauge('crawlgate_request_limit_connected', () => Number(counter.isConnected()));
}
