import { availableParallelism, cpus, totalmem } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';

/** What a bench answers: one table and what has to be said about it. */
export type Report = {
  readonly name: string;
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Measured against the numbers; a ratio is told, never judged, because the machines are shared. */
  readonly targets: readonly { readonly what: string; readonly measured: string; readonly target: string }[];
  readonly notes: readonly string[];
};

export type BenchOptions = {
  /** Tiny sizes: shows that the bench runs and that its work is right, not how fast it is. */
  readonly smoke: boolean;
  readonly rounds: number;
};

export type Bench = (options: BenchOptions) => Promise<Report>;

/** The work itself was wrong: the only thing that makes a bench fail. */
export class WrongWork extends Error {
  override readonly name = 'WrongWork';
}

export function expectSame(what: string, expected: unknown, actual: unknown): void {
  if (expected !== actual) throw new WrongWork(`${what}: expected ${String(expected)}, got ${String(actual)}`);
}

export const perSecond = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(1));
export const ratio = (value: number): string => `${value.toFixed(2)} ×`;
export const mebibytes = (kibibytes: number): string => `${(kibibytes / 1024).toFixed(0)} MiB`;
export const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;

/** The machine without its name. */
export function machine(): string {
  const model = cpus()[0]?.model ?? 'unknown processor';
  return `${availableParallelism()} cores (${model}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB of memory, Node ${process.versions.node}, ${process.platform} ${process.arch}`;
}

function terminalTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    style: { head: [], border: [] },
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString();
}

export function printReport(report: Report): void {
  console.log(`\n${report.name}: ${report.title}`);
  console.log(stripVTControlCharacters(terminalTable(report.head, report.rows)));
  for (const { what, measured, target } of report.targets) console.log(`  ${what}: ${measured} (target ${target})`);
  for (const note of report.notes) console.log(`  ${note}`);
}

const markdownRow = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [markdownRow(head), markdownRow(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(markdownRow)].join('\n');
}

/** One section of results.md. */
export function markdownOf(report: Report, date: Date): string {
  return [
    `## ${report.name}`,
    `${report.title} Measured on ${date.toISOString().slice(0, 10)}: ${machine()}.`,
    markdownTable(report.head, report.rows),
    markdownTable(
      ['number', 'measured', 'target'],
      report.targets.map(({ what, measured, target }) => [what, measured, target]),
    ),
    report.notes.map((note) => `- ${note}`).join('\n'),
  ].join('\n\n');
}
