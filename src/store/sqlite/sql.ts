import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';

export type Row = Record<string, SQLOutputValue>;

/** A connection with its statements, each prepared once. The texts are a closed set: values are bound, never written into them. */
export type Sql = {
  /** The first row. `R` is what the statement selects; it is the caller's word. */
  get<R extends Row>(text: string, ...values: SQLInputValue[]): R | undefined;
  all<R extends Row>(text: string, ...values: SQLInputValue[]): R[];
  /** Answers how many rows changed. */
  run(text: string, ...values: SQLInputValue[]): number;
  /** Every statement so far, for the test that reads their plans. */
  texts(): string[];
};

type Prepared = { readonly statement: StatementSync; readonly names: readonly string[]; readonly blank: Row };

/**
 * One row as an object. node:sqlite's own objects are dictionaries, their column names made anew for each row: reading a crawl that way
 * costs more than finding it. `blank` has every column, so that no row changes its shape while it is filled.
 */
function rowOf<R extends Row>({ names, blank }: Prepared, values: readonly SQLOutputValue[]): R {
  const row: Row = { ...blank };
  for (const [index, name] of names.entries()) row[name] = values[index] ?? null;
  return row as R;
}

export function createSql(db: DatabaseSync): Sql {
  const statements = new Map<string, Prepared>();
  const prepared = (text: string): Prepared => {
    const known = statements.get(text);
    if (known !== undefined) return known;
    const statement = db.prepare(text);
    statement.setReturnArrays(true);
    const names = statement.columns().map(({ name }) => name);
    const fresh = { statement, names, blank: Object.fromEntries(names.map((name) => [name, null])) };
    statements.set(text, fresh);
    return fresh;
  };
  return {
    get<R extends Row>(text: string, ...values: SQLInputValue[]) {
      const found = prepared(text);
      const row: unknown = found.statement.get(...values);
      return Array.isArray(row) ? rowOf<R>(found, row) : undefined;
    },
    all<R extends Row>(text: string, ...values: SQLInputValue[]) {
      const found = prepared(text);
      const rows: unknown[] = found.statement.all(...values);
      return rows.map((row) => rowOf<R>(found, Array.isArray(row) ? row : []));
    },
    run: (text, ...values) => Number(prepared(text).statement.run(...values).changes),
    texts: () => [...statements.keys()],
  };
}

/** Port methods in their synchronous form, as they run inside one transaction or on a thread's own connection. */
export type Sync<Part, Method extends keyof Part> = {
  readonly [M in Method]: Part[M] extends (...args: infer Args) => Promise<infer Answer> ? (...args: Args) => Answer : never;
};
