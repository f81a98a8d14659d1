import type { Context } from './context.ts';

type Cell = string | number | null;
/** A column: its heading, and what stands in it. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => Cell];

/** Prints rows as a table without frame or colours, or with `json` each whole row in one JSON array. */
export async function printRows<Row>(
  context: Context,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  json: boolean,
): Promise<void> {
  if (json) {
    printJson(context, rows);
    return;
  }
  // Loaded here, for a server prints no tables.
  const { default: Table } = await import('cli-table3');
  const table = new Table({
    head: columns.map(([heading]) => heading),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: Object.fromEntries(FRAME.map((part) => [part, ''])),
  });
  for (const row of rows) table.push(columns.map(([, cell]) => String(cell(row) ?? '–')));
  context.out(`${table.toString().replace(/ +$/gm, '')}\n`);
}

const FRAME = [
  'top',
  'top-mid',
  'top-left',
  'top-right',
  'bottom',
  'bottom-mid',
  'bottom-left',
  'bottom-right',
  'left',
  'left-mid',
  'mid',
  'mid-mid',
  'right',
  'right-mid',
  'middle',
] as const;

/** Prints one record: as JSON, or a line for each field. */
export function printRecord(context: Context, record: Readonly<Record<string, unknown>>, json: boolean): void {
  if (json) {
    printJson(context, record);
    return;
  }
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  for (const [name, value] of Object.entries(record)) context.out(`${name.padEnd(width)}  ${shown(value)}\n`);
}

const shown = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : value === null ? '–' : String(value));

const printJson = (context: Context, value: unknown): void => context.out(`${JSON.stringify(value, null, 2)}\n`);

/** A time as the API writes it. */
export const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
