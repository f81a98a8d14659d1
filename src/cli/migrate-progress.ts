import type { Progress } from '#migration/counts.ts';
import { COPY_KINDS, type CopyKind } from '#store/copy-store.ts';
import type { Context } from './context.ts';
import { createProgressBar } from './progress-bar.ts';

/** What is told of a migration while it runs, on stderr. */
export type ShownProgress = Progress & {
  /** Takes the bar's line to its end. Repeatable. */
  end(): void;
};

type Names = Readonly<Record<CopyKind, string>>;

/** A bar over all records where stderr is a terminal; else one line for each kind, when it is complete. */
export async function createProgress(context: Context, names: Names): Promise<ShownProgress> {
  return context.errTerminal === null ? lines(context, names) : bar(context.errTerminal, names);
}

function lines({ err }: Context, names: Names): ShownProgress {
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
      if (rest === 0) err.write(`${names[kind]}: ${totals.get(kind) ?? 0}\n`);
    },
    end() {},
  };
}

async function bar(stream: NodeJS.WritableStream, names: Names): Promise<ShownProgress> {
  const shown = await createProgressBar(stream, '{percentage}% | {value} of {total} records | {eta_formatted} left | {kind}');
  return {
    begin: (totals) =>
      shown.start(
        Object.values(totals).reduce((sum, count) => sum + count, 0),
        0,
        { kind: '' },
      ),
    add: (kind, records) => shown.increment(records, { kind: names[kind] }),
    end() {
      if (shown.isActive) shown.stop();
    },
  };
}
