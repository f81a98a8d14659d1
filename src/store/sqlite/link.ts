import type { MessagePort } from 'node:worker_threads';
import type { EpochMs } from '#domain/ids.ts';
import type { Store } from '../store.ts';
import { assembleStore } from './assemble.ts';
import { openReader } from './database.ts';
import type { Relink } from './messages.ts';
import { createReads } from './operations.ts';
import { createSql } from './sql.ts';
import { createRemoteWriter } from './writer.ts';

export type SqliteLinkOptions = {
  readonly path: string;
  /** What `SqliteStore.link` answered, transferred to this thread. */
  readonly port: MessagePort;
  /** The clock of local reads, the same as the store thread's. Default: `Date.now`. */
  readonly now?: () => EpochMs;
};

/**
 * The open store as another thread of the process uses it: reads by a connection of its own, writes by message to the store thread,
 * and to the next one when that ends. Closing it closes only this thread's part.
 */
export function linkSqliteStore({ path, port, now = Date.now }: SqliteLinkOptions): Store {
  const db = openReader(path);
  const writer = createRemoteWriter();
  port.on('message', (relink: Relink) => writer.attach(relink.port));
  port.on('close', () => writer.close()); // the process's store has been closed
  return assembleStore({
    reads: createReads(createSql(db), now),
    write: writer.write,
    async shut() {
      await writer.idle();
      writer.close();
      port.close();
      db.close();
    },
  });
}
