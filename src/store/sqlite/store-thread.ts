import type { DatabaseSync } from 'node:sqlite';
import type { MessagePort } from 'node:worker_threads';
import { Refusal } from '#domain/errors.ts';
import type { EpochMs } from '#domain/ids.ts';
import { prepareWriter } from './database.ts';
import { createGroupCommit, type Outcome } from './group-commit.ts';
import type { Order, Report, WriteReply, WriteRequest } from './messages.ts';
import { createWrites } from './operations.ts';
import { retryBusy } from './retry.ts';
import { createSql } from './sql.ts';

export type StoreThreadOptions = {
  /** Opens the database file; the thread owns the connection and closes it. */
  readonly openDatabase: () => DatabaseSync;
  /** Towards the main thread: takes an `Order`, gives a `Report`. */
  readonly port: Pick<MessagePort, 'on' | 'postMessage' | 'close'>;
  readonly now: () => EpochMs;
};

function replyOf(id: number, outcome: Outcome): WriteReply {
  if ('value' in outcome) return { id, value: outcome.value };
  if (!(outcome.error instanceof Refusal)) return { id, error: outcome.error };
  const { message, cause } = outcome.error;
  return { id, unavailable: cause instanceof Error ? `${message} (${cause.message})` : message };
}

/** The body of the store thread: the one writing connection, for all threads of the process. Resolves when it has reported. */
export async function runStoreThread({ openDatabase, port, now }: StoreThreadOptions): Promise<void> {
  const report = (message: Report): void => port.postMessage(message);
  let db: DatabaseSync;
  try {
    db = await retryBusy(() => {
      const opened = openDatabase();
      try {
        prepareWriter(opened);
        return opened;
      } catch (error) {
        opened.close();
        throw error;
      }
    });
  } catch (error) {
    report({ failed: error instanceof Error ? error.message : String(error) });
    port.close();
    return;
  }
  const writes = createWrites(createSql(db), now);
  const commits = createGroupCommit(db);
  const users = new Set<MessagePort>();

  function connect(user: MessagePort): void {
    users.add(user);
    user.on('close', () => users.delete(user));
    user.on('message', ({ id, method, args }: WriteRequest) => {
      commits.submit(
        () => Reflect.apply(writes[method], undefined, args),
        (outcome) => user.postMessage(replyOf(id, outcome)),
      );
    });
  }
  async function close(): Promise<void> {
    await commits.drained();
    for (const user of users) user.close();
    db.close();
    port.close();
  }
  port.on('message', (order: Order) => {
    if ('connect' in order) connect(order.connect);
    else void close();
  });
  report({ ready: true });
}
