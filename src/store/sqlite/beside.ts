import type { EpochMs } from '#domain/ids.ts';
import type { Store } from '../store.ts';
import { assembleStore } from './assemble.ts';
import { openFile, prepareWriter } from './database.ts';
import { createGroupCommit } from './group-commit.ts';
import { createReads, createWrites } from './operations.ts';
import { retryBusy } from './retry.ts';
import { createSql } from './sql.ts';
import type { Write } from './writer.ts';

export type SqliteBesideOptions = {
  /** The database file, in a directory that exists; made when absent. */
  readonly path: string;
  /** Default: `Date.now`. */
  readonly now?: () => EpochMs;
};

/**
 * Opens the store for a short task beside a server that may be running on it, with a writing connection in this very thread. Takes
 * neither the server's lock nor anybody's lease.
 */
export async function openSqliteBeside({ path, now = Date.now }: SqliteBesideOptions): Promise<Store> {
  const db = openFile(path);
  try {
    await retryBusy(() => prepareWriter(db));
  } catch (error) {
    db.close();
    throw error;
  }
  const sql = createSql(db);
  const writes = createWrites(sql, now);
  const commits = createGroupCommit(db);
  const write: Write = (method, ...args) =>
    new Promise((resolve, reject) => {
      commits.submit(
        () => Reflect.apply(writes[method], undefined, args),
        (outcome) => ('value' in outcome ? resolve(outcome.value as never) : reject(outcome.error)),
      );
    });
  return assembleStore({
    reads: createReads(sql, now),
    write,
    async shut() {
      await commits.drained();
      db.close();
    },
  });
}
