import { COALESCE_MS } from '#bus/coalesce.ts';
import type { CrawlReport, Moment } from './made-up-crawl.ts';
import { expectSame } from './report.ts';

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

export const quantile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
