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

export function createSql(db: DatabaseSync): Sql {
  const statements = new Map<string, StatementSync>();
  const prepared = (text: string): StatementSync => {
    const known = statements.get(text);
    if (known !== undefined) return known;
    const statement = db.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  return {
    get: <R extends Row>(text: string, ...values: SQLInputValue[]) => prepared(text).get(...values) as R | undefined,
    all: <R extends Row>(text: string, ...values: SQLInputValue[]) => prepared(text).all(...values) as R[],
    run: (text, ...values) => Number(prepared(text).run(...values).changes),
    texts: () => [...statements.keys()],
  };
}

/** Port methods in their synchronous form, as they run inside one transaction or on a thread's own connection. */
export type Sync<Part, Method extends keyof Part> = {
  readonly [M in Method]: Part[M] extends (...args: infer Args) => Promise<infer Answer> ? (...args: Args) => Answer : never;
};
