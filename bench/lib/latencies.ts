import { COALESCE_MS } from '#bus/coalesce.ts';
import type { CrawlReport, Moment } from './made-up-crawl.ts';
import { expectSame, milliseconds, type Report, ratio } from './report.ts';

export type Latencies = {
  /** Of each update: from when it could be sent, which is when it was stored or when the window was over, to its arrival. */
  readonly beyond: readonly number[];
  /** Of each batch: from when it was stored to the arrival of the first update that has it. */
  readonly fromStored: readonly number[];
};

/** The final update waits for no window, and is left out of `beyond`. */
export function latenciesOf({ stored, published, finalVersion }: CrawlReport, received: readonly Moment[]): Latencies {
  expectSame('the last version', finalVersion, received.at(-1)?.version);
  const arrivalOf = (version: number): number => received.find((each) => each.version >= version)?.at ?? Number.NaN;
  const beyond: number[] = [];
  for (const [at, { version }] of published.entries()) {
    if (version === finalVersion) continue;
    const storedAt = stored.find((each) => each.version === version)?.at ?? Number.NaN;
    const open = Math.max(storedAt, (published[at - 1]?.at ?? Number.NEGATIVE_INFINITY) + COALESCE_MS);
    beyond.push(arrivalOf(version) - open);
  }
  const fromStored = stored.map(({ version, at }) => arrivalOf(version) - at);
  expectSame('updates without a time', 0, [...beyond, ...fromStored].filter(Number.isNaN).length);
  return { beyond, fromStored };
}

const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;

export type LatencyContender = 'bare' | 'crawlgate';

type Told = {
  readonly labels: Readonly<Record<LatencyContender, string>>;
  /** The most that crawlgate may take beyond the window, in milliseconds. */
  readonly targetMs: number;
  /** The bare baseline, in a sentence. */
  readonly baseline: string;
};

/** The table and the numbers of a bench of latency, over all updates of all rounds. */
export function tellLatencies(
  results: Readonly<Record<LatencyContender, readonly Latencies[]>>,
  { labels, targetMs, baseline }: Told,
): Pick<Report, 'head' | 'rows' | 'targets'> {
  const all = (who: LatencyContender, field: keyof Latencies): number[] => results[who].flatMap((measured) => measured[field]);
  const beyond = (who: LatencyContender, part: number): number => quantile(all(who, 'beyond'), part);
  const target = `≤ ${targetMs} ms`;
  return {
    head: ['', 'updates', 'p50 beyond the window', 'p99 beyond the window', 'batches', 'p99 of a batch, window included'],
    rows: (['bare', 'crawlgate'] as const).map((who) => [
      labels[who],
      String(all(who, 'beyond').length),
      milliseconds(beyond(who, 0.5)),
      milliseconds(beyond(who, 0.99)),
      String(all(who, 'fromStored').length),
      milliseconds(quantile(all(who, 'fromStored'), 0.99)),
    ]),
    targets: [
      { what: 'p99 beyond the 200 ms window', measured: milliseconds(beyond('crawlgate', 0.99)), target },
      {
        what: 'p99 of a batch, less the window',
        measured: milliseconds(quantile(all('crawlgate', 'fromStored'), 0.99) - COALESCE_MS),
        target,
      },
      {
        what: `p99 beyond the window, against ${baseline}`,
        measured: ratio(beyond('crawlgate', 0.99) / beyond('bare', 0.99)),
        target: 'told',
      },
    ],
  };
}
