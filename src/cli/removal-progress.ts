import type { Context } from './context.ts';
import { createProgressBar } from './progress-bar.ts';

/** What is told of a removal while it goes on, on stderr. */
export type RemovalProgress = {
  /** So many more records have gone. */
  add(records: number): void;
  /** Takes the bar's line to its end. Repeatable. */
  end(): void;
};

/** A bar where stderr is a terminal; else nothing, for what has gone is told at the end. */
export async function createRemovalProgress({ errTerminal }: Context, total: number): Promise<RemovalProgress> {
  if (errTerminal === null) return { add() {}, end() {} };
  const shown = await createProgressBar(errTerminal, '{percentage}% | {value} of {total} records | {eta_formatted} left');
  shown.start(total, 0);
  let left = total;
  return {
    add(records) {
      // What came after the count is not in the total.
      const told = Math.min(records, left);
      left -= told;
      shown.increment(told);
    },
    end() {
      if (shown.isActive) shown.stop();
    },
  };
}
