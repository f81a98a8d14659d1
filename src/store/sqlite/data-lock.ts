import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isBusy } from './database.ts';

/** Another server runs on the same data. */
export class DataInUse extends Error {
  override readonly name = 'DataInUse';
}

/**
 * Locks the directory that the database lies in against another server, until the returned function is called or the process ends,
 * however it ends: the lock is an open exclusive transaction on `lock.db`, which the operating system gives back. Throws `DataInUse`.
 */
export function lockData(databasePath: string): () => void {
  const directory = dirname(databasePath);
  const db = new DatabaseSync(join(directory, 'lock.db'), { timeout: 0 });
  try {
    db.exec('begin exclusive');
  } catch (error) {
    db.close();
    if (!isBusy(error)) throw error;
    throw new DataInUse(`Another crawlgate server is running on the data directory ${directory}: two cannot share it.`, { cause: error });
  }
  return () => db.close();
}
