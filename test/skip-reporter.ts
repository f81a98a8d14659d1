import type { Reporter, TestModule } from 'vitest/node';

/** Where a skipped test says how to run it. */
const HOW = /\(to run: (.+)\)$/;

/** Tells at the end what was skipped for want of a server or a program, and how to run it: the default reporter does not name such tests. */
export function createSkipReporter(write: (text: string) => void): Reporter {
  return {
    onTestRunEnd(modules: readonly TestModule[]) {
      const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
      const ways = skipped.flatMap(({ name }) => HOW.exec(name)?.[1] ?? []);
      for (const [way, { length }] of Map.groupBy(ways, (way) => way))
        write(`${length} skipped; to run ${length === 1 ? 'it' : 'them'}: ${way}\n`);
    },
  };
}
