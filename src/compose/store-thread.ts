import { parentPort, workerData } from 'node:worker_threads';
import { openFile } from '#store/sqlite/database.ts';
import { runStoreThread } from '#store/sqlite/store-thread.ts';

/** The module that the store thread runs, on the database file `workerData.path`. */
const { path } = workerData as { readonly path: string };
if (parentPort === null) throw new Error('The store thread was not started as a thread.');
await runStoreThread({ port: parentPort, openDatabase: () => openFile(path), now: Date.now });
