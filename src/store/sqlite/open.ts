import { dirname } from 'node:path';
import { MessageChannel, type MessagePort, type TransferListItem, Worker } from 'node:worker_threads';
import type { EpochMs } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Log } from '#telemetry.ts';
import type { Store } from '../store.ts';
import { assembleStore } from './assemble.ts';
import { lockData } from './data-lock.ts';
import { openReader } from './database.ts';
import { makeDirectory } from './make-directory.ts';
import type { Order, Relink, Report } from './messages.ts';
import { createReads } from './operations.ts';
import { createSql } from './sql.ts';
import { createRemoteWriter } from './writer.ts';

/** Between a store thread that could not start and the next attempt, in milliseconds. */
const RESTART_DELAY_MS = 500;

export type SqliteStoreOptions = {
  /** The database file; made, with its directory, when absent. */
  readonly path: string;
  /** The module that the store thread runs; it calls `runStoreThread` with the `path` of its workerData. */
  readonly threadEntry: URL;
  /** Called for each store thread: what it is given beside the `path`. */
  readonly prepareThread?: () => { readonly workerData: object; readonly transferList: readonly TransferListItem[] };
  readonly log: Log;
  /** The clock of local reads, the same as the store thread's. Default: `Date.now`. */
  readonly now?: () => EpochMs;
};

export type SqliteStore = {
  readonly store: Store;
  /** A port to transfer to another thread of the process, which gives it to `linkSqliteStore`. One thread each. */
  link(): MessagePort;
  /**
   * Takes every lease away, each counted as a loss. For when all holders are known to have ended, as those of an ended thread are:
   * their crawls can be claimed at once. Answers the snapshots of crawls that ended by it.
   */
  expireLeases(): Promise<Snapshot[]>;
  /** Calls `listener` each time that the store thread ended unasked; the next one is started already. Answers how to stop that. */
  onExit(listener: () => void): () => void;
};

/**
 * Opens the store for a server: locks its directory, starts the store thread, and expires every lease, whose holders ended with the
 * process before. Throws `DataInUse`, or an `Error` when the database cannot be opened or was written by a newer version.
 */
export async function openSqliteStore({ path, threadEntry, prepareThread, log, now = Date.now }: SqliteStoreOptions): Promise<SqliteStore> {
  makeDirectory(dirname(path));
  const unlock = lockData(path);
  const writer = createRemoteWriter();
  const links = new Set<MessagePort>();
  const listeners = new Set<() => void>();
  let thread: Worker | null = null;
  /** The thread, or the one that is about to be it. */
  let newest: Worker | null = null;
  let closing = false;
  let restart: NodeJS.Timeout | undefined;

  function connect(to: Worker): MessagePort {
    const { port1, port2 } = new MessageChannel();
    to.postMessage({ connect: port1 } satisfies Order, [port1]);
    return port2;
  }
  function relink(to: Worker, link: MessagePort): void {
    const port = connect(to);
    link.postMessage({ port } satisfies Relink, [port]);
  }

  /** Resolves when the thread takes writes; rejects when it ends before. */
  function start(): Promise<void> {
    const { workerData = {}, transferList = [] } = prepareThread?.() ?? {};
    const started = new Worker(threadEntry, { workerData: { path, ...workerData }, transferList: [...transferList], name: 'store' });
    newest = started;
    started.on('error', (error) => log.error({ err: error }, 'the store thread failed'));
    return new Promise((resolve, reject) => {
      started.once('message', (report: Report) => {
        if ('failed' in report) return reject(new Error(`The database ${path} cannot be opened: ${report.failed}`));
        thread = started;
        writer.attach(connect(started));
        for (const link of links) relink(started, link);
        resolve();
      });
      started.once('exit', () => {
        reject(new Error('The store thread ended before it was ready.'));
        if (newest === started) newest = null;
        if (thread === started) ended();
      });
    });
  }
  function ended(): void {
    thread = null;
    if (closing) return;
    log.error('the store thread ended; starting the next one');
    startAgain();
    for (const listener of listeners) listener();
  }
  function startAgain(): void {
    start().catch((error: unknown) => {
      if (closing) return;
      log.error({ err: error }, 'the store thread did not start; trying again');
      restart = setTimeout(startAgain, RESTART_DELAY_MS);
    });
  }
  async function expireLeases(): Promise<Snapshot[]> {
    const given = await writer.write('expireLeases');
    for (const crawl of given) log.warn({ crawlId: crawl.id }, 'the crawl was given up: its workers did not survive it');
    return given;
  }
  async function stopThread(): Promise<void> {
    closing = true;
    clearTimeout(restart);
    const last = newest;
    if (last === null) return;
    const exited = new Promise((resolve) => last.once('exit', resolve));
    if (last === thread) last.postMessage({ close: true } satisfies Order);
    else void last.terminate(); // nothing was given to it yet
    await exited;
  }

  try {
    await start();
    const db = openReader(path);
    const store = assembleStore({
      reads: createReads(createSql(db), now),
      write: writer.write,
      async shut() {
        await writer.idle();
        db.close();
        await stopThread();
        writer.close();
        for (const link of links) link.close();
        unlock();
      },
    });
    await expireLeases();
    return {
      store,
      expireLeases,
      link() {
        const { port1, port2 } = new MessageChannel();
        links.add(port1);
        port1.on('close', () => links.delete(port1));
        if (thread !== null) relink(thread, port1);
        return port2;
      },
      onExit(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  } catch (error) {
    await stopThread();
    writer.close();
    unlock();
    throw error;
  }
}
