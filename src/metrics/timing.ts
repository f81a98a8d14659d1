/** A histogram of which each series is found once and then costs an addition: for what happens with every request. */
export type TimingFamily = {
  /** The series with these label values, in the order of the table; made when it is new. */
  series(...labels: readonly string[]): Timing;
  values(): Sample[];
};

export type Timing = {
  observe(value: number): void;
};

/** One number, as prom-client has it in its JSON. */
export type Sample = {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
};

type Series = Timing & {
  readonly labels: Readonly<Record<string, string>>;
  readonly counts: readonly number[];
  readonly sum: () => number;
};

/** `common` are labels that every series has. */
export function createTimingFamily(
  name: string,
  labelNames: readonly string[],
  bounds: readonly number[],
  common: Readonly<Record<string, string>>,
): TimingFamily {
  const known = new Map<string, Series>();

  function createSeries(labels: Series['labels']): Series {
    /** Not cumulative; the last one is above all bounds. */
    const counts = new Array<number>(bounds.length + 1).fill(0);
    let sum = 0;
    return {
      labels,
      counts,
      sum: () => sum,
      observe(value) {
        let at = 0;
        while (at < bounds.length && value > (bounds[at] ?? 0)) at++;
        counts[at] = (counts[at] ?? 0) + 1;
        sum += value;
      },
    };
  }

  function samplesOf({ labels, counts, sum }: Series): Sample[] {
    let below = 0;
    const buckets = counts.map((count, at) => {
      below += count;
      return { metricName: `${name}_bucket`, labels: { le: bounds[at] ?? '+Inf', ...labels }, value: below };
    });
    return [...buckets, { metricName: `${name}_sum`, labels, value: sum() }, { metricName: `${name}_count`, labels, value: below }];
  }

  return {
    series(...values) {
      const key = values.join('\n');
      const before = known.get(key);
      if (before !== undefined) return before;
      const labels = { ...common, ...Object.fromEntries(labelNames.map((label, at) => [label, values[at] ?? ''])) };
      const made = createSeries(labels);
      known.set(key, made);
      return made;
    },
    values: () => [...known.values()].flatMap(samplesOf),
  };
}
