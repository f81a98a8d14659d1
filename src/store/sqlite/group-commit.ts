import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '#domain/errors.ts';
import { isBusy } from './database.ts';
import { BUSY_RETRY_MS, BUSY_TIMEOUT_MS, stillBusy, told } from './retry.ts';

/** The most writes of one transaction: bounds how long the first of them waits for the others. */
const MAX_GROUP = 256;

export type Outcome = { readonly value: unknown } | { readonly error: unknown };

export type GroupCommit = {
  /**
   * Runs `write` in the next transaction, and calls `settle` when that has been committed (or not): with its answer, with what it
   * threw (nothing of it is stored then), or with `unavailable` when the transaction could not be had or completed.
   */
  submit(write: () => unknown, settle: (outcome: Outcome) => void): void;
  /** Resolves when every write has been settled. */
  drained(): Promise<void>;
};

type Waiting = { readonly write: () => unknown; readonly settle: (outcome: Outcome) => void; readonly since: number };

/**
 * Runs all writes that wait as one durable transaction, a savepoint each: writers share the cost of the disk. Never blocks on a
 * lock of another process: it is tried for again by timer.
 */
export function createGroupCommit(db: DatabaseSync): GroupCommit {
  let waiting: Waiting[] = [];
  let scheduled = false;
  const whenDrained: (() => void)[] = [];
  const savepoint = db.prepare('savepoint write');
  const release = db.prepare('release write');

  function schedule(delayMs = 0): void {
    if (scheduled) return;
    scheduled = true;
    // setImmediate lets the messages that have arrived be read first, so that they share the transaction.
    if (delayMs === 0) setImmediate(flush);
    else setTimeout(flush, delayMs);
  }

  function begin(): boolean {
    try {
      db.exec('begin immediate');
      return true;
    } catch (error) {
      const refused = isBusy(error) ? stillBusy(error) : unavailable('The database cannot be written.', error);
      const cutoff = isBusy(error) ? performance.now() - BUSY_TIMEOUT_MS : Number.POSITIVE_INFINITY;
      const given = waiting.filter((one) => one.since <= cutoff);
      waiting = waiting.filter((one) => one.since > cutoff);
      for (const one of given) one.settle({ error: refused });
      return false;
    }
  }

  function attempt({ write }: Waiting): Outcome {
    savepoint.run();
    try {
      const value = write();
      release.run();
      return { value };
    } catch (error) {
      // A full disk or a failed write rolls the whole transaction back by itself: then it has failed for all.
      if (!db.isTransaction) throw error;
      db.exec('rollback to write; release write');
      return { error: told(error) };
    }
  }

  function runGroup(group: readonly Waiting[]): Outcome[] {
    try {
      const outcomes = group.map((one) => attempt(one));
      db.exec('commit');
      return outcomes;
    } catch (error) {
      if (db.isTransaction) db.exec('rollback');
      return group.map(() => ({ error: unavailable('The transaction could not be completed.', error) }));
    }
  }

  function flush(): void {
    scheduled = false;
    if (waiting.length > 0 && begin()) {
      const group = waiting.slice(0, MAX_GROUP);
      waiting = waiting.slice(MAX_GROUP);
      const outcomes = runGroup(group);
      for (const [index, one] of group.entries()) one.settle(outcomes[index] ?? { error: new Error('a write without an outcome') });
      if (waiting.length > 0) schedule();
    } else if (waiting.length > 0) schedule(BUSY_RETRY_MS);
    if (waiting.length === 0) for (const resolve of whenDrained.splice(0)) resolve();
  }

  return {
    submit(write, settle) {
      waiting.push({ write, settle, since: performance.now() });
      schedule();
    },
    drained: () => (waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => whenDrained.push(resolve))),
  };
}
