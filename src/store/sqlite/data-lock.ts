import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './database.ts';

/** Another server runs on the same data. */
export class DataInUse extends Error {
  override readonly name = 'DataInUse';
}

/**
 * Locks the directory that the database lies in against another server, until the returned function is called or the process ends,
 * however it ends: the lock is an open exclusive transaction on `lock.db`, which the operating system gives back. Throws `DataInUse`, or an
 * `Error` that names the directory when nothing can be written there.
 */
export function lockData(databasePath: string): () => void {
  const directory = dirname(databasePath);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(join(directory, 'lock.db'), { timeout: 0 });
    db.exec('begin exclusive');
  } catch (error) {
    db?.close();
    if (!isBusy(error))
      throw new Error(`The data directory ${directory} cannot be locked: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    throw new DataInUse(`Another crawlgate server is running on the data directory ${directory}: two cannot share it.`, { cause: error });
  }
  const locked = db;
  return () => locked.close();
}
