import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { METRICS, type Metric, type MetricName } from './table.ts';
import { createTimingFamily, type TimingFamily } from './timing.ts';

/** A family with its numbers, as it goes from thread to thread. */
export type MeasuredFamily = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly object[];
};

export type ThreadName = 'main' | 'store' | 'crawler';

/**
 * The metrics that one thread holds, made from the table; each at most once. Every series has the label `thread`: what one thread
 * counts starts again when that thread is replaced, and must not be added to what another one has counted.
 */
export type Meter = {
  counter(name: MetricName): Counter;
  /** `read` is called at each scrape. */
  gauge(name: MetricName, read?: () => number): Gauge;
  /** Counts elsewhere: `read` is called at each scrape, and answers the totals by the values of the metric's one label. */
  readCounter(name: MetricName, read: () => Readonly<Record<string, number>>): void;
  histogram(name: MetricName): Histogram;
  /** As a histogram, for what happens with every request. */
  timing(name: MetricName): TimingFamily;
  collect(): Promise<MeasuredFamily[]>;
};

export function createMeter(thread: ThreadName): Meter {
  const registry = new Registry();
  registry.setDefaultLabels({ thread });
  const timings: { readonly name: MetricName; readonly family: TimingFamily }[] = [];

  function configOf(name: MetricName) {
    const { help, labels }: Metric = METRICS[name];
    return { name, help, labelNames: [...labels], registers: [registry] };
  }
  const bucketsOf = (name: MetricName): readonly number[] => (METRICS[name] as Metric).buckets ?? [];

  return {
    counter: (name) => new Counter(configOf(name)),
    gauge: (name, read) =>
      new Gauge({
        ...configOf(name),
        ...(read !== undefined && {
          collect() {
            this.set(read());
          },
        }),
      }),
    readCounter(name, read) {
      const [label] = METRICS[name].labels;
      new Counter({
        ...configOf(name),
        collect() {
          this.reset();
          for (const [value, total] of Object.entries(read())) {
            if (label === undefined) this.inc(total);
            else this.inc({ [label]: value }, total);
          }
        },
      });
    },
    histogram: (name) => new Histogram({ ...configOf(name), buckets: [...bucketsOf(name)] }),
    timing(name) {
      const family = createTimingFamily(name, METRICS[name].labels, bucketsOf(name), { thread });
      timings.push({ name, family });
      return family;
    },
    async collect() {
      const read = await registry.getMetricsAsJSON();
      const plain = read.map(({ name, help, type, aggregator, values }) => ({ name, help, type: String(type), aggregator, values }));
      const hot = timings.map(({ name, family }) => {
        const { help, kind }: Metric = METRICS[name];
        return { name, help, type: kind, aggregator: 'sum', values: family.values() };
      });
      return [...plain, ...hot];
    },
  };
}
