import type { Progress } from '#migration/counts.ts';
import { COPY_KINDS, type CopyKind } from '#store/copy-store.ts';
import type { Context } from './context.ts';
import { KIND_NAMES } from './kind-names.ts';
import { createProgressBar } from './progress-bar.ts';

/** What is told of a migration while it runs, on stderr. */
export type ShownProgress = Progress & {
  /** Takes the bar's line to its end. Repeatable. */
  end(): void;
};

/** A bar over all records where stderr is a terminal; else one line for each kind, when it is complete. */
export async function createProgress(context: Context): Promise<ShownProgress> {
  const shown = context.errTerminal === null ? lines(context) : await bar(context.errTerminal);
  return { ...shown, leaveOut: (name) => context.err.write(`left out: ${name}, which is being removed\n`) };
}

type Counting = Omit<ShownProgress, 'leaveOut'>;

function lines({ err }: Context): Counting {
  const left = new Map<CopyKind, number>();
  const totals = new Map<CopyKind, number>();
  return {
    begin(counts) {
      for (const kind of COPY_KINDS) {
        left.set(kind, counts[kind]);
        totals.set(kind, counts[kind]);
      }
    },
    add(kind, records) {
      const rest = (left.get(kind) ?? 0) - records;
      left.set(kind, rest);
      if (rest === 0) err.write(`${KIND_NAMES[kind]}: ${totals.get(kind) ?? 0}\n`);
    },
    end() {},
  };
}

async function bar(stream: NodeJS.WritableStream): Promise<Counting> {
  const shown = await createProgressBar(stream, '{percentage}% | {value} of {total} records | {eta_formatted} left | {kind}');
  return {
    begin: (totals) =>
      shown.start(
        Object.values(totals).reduce((sum, count) => sum + count, 0),
        0,
        { kind: '' },
      ),
    add: (kind, records) => shown.increment(records, { kind: KIND_NAMES[kind] }),
    end() {
      if (shown.isActive) shown.stop();
    },
  };
}
