import { DatabaseSync } from 'node:sqlite';
import { MIGRATIONS } from './schema.ts';

const SQLITE_BUSY = 5;
/** Out of memory, read-only, I/O error, full, cannot open. */
const OUTSIDE_CAUSES = new Set([7, 8, 10, 13, 14]);
/** The primary result code is the low byte of SQLite's extended one. */
const resultCode = (error: unknown): number =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;

/** Whether another connection holds the lock that was needed: trying again later makes sense. */
export const isBusy = (error: unknown): boolean => resultCode(error) === SQLITE_BUSY;

/** Whether the machine, not the statement, is at fault: a full disk, an I/O error. */
export const isOutsideCause = (error: unknown): boolean => OUTSIDE_CAUSES.has(resultCode(error));

/** A connection that never waits inside SQLite: a busy database is an error at once, and whoever sees it retries by timer. */
export const openFile = (path: string): DatabaseSync => new DatabaseSync(path, { timeout: 0 });

/**
 * Makes `db` a writing connection: WAL, every commit on disk before it returns, and the schema brought up to date. Throws a busy
 * error (see `isBusy`) with nothing done, and an `Error` when the file was written by a newer version.
 */
export function prepareWriter(db: DatabaseSync): void {
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma journal_size_limit = 67108864; pragma cache_size = -16384');
  if (versionOf(db) === MIGRATIONS.length) return;
  db.exec('begin immediate');
  try {
    const version = versionOf(db);
    if (version > MIGRATIONS.length) throw new Error(`The database has schema ${version}; this version knows up to ${MIGRATIONS.length}.`);
    for (const step of MIGRATIONS.slice(version)) db.exec(step);
    db.exec(`pragma user_version = ${MIGRATIONS.length}; commit`);
  } catch (error) {
    if (db.isTransaction) db.exec('rollback');
    throw error;
  }
}

/** A reading connection to a database that `prepareWriter` has seen. */
export const openReader = (path: string): DatabaseSync => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  db.exec('pragma cache_size = -8192');
  return db;
};

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('pragma user_version').get()?.user_version);
}
