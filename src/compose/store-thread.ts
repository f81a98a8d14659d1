import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openFile } from '#store/sqlite/database.ts';
import { runStoreThread } from '#store/sqlite/store-thread.ts';
import { serveThreadMetrics } from './metrics.ts';
import { releaseStartupHeap } from './startup-heap.ts';

/** The module that the store thread runs, on the database file `workerData.path`; `metricsPort` is from `ThreadMetrics.connect`. */
const { path, metricsPort } = workerData as { readonly path: string; readonly metricsPort?: MessagePort };
if (parentPort === null) throw new Error('The store thread was not started as a thread.');
if (metricsPort !== undefined) serveThreadMetrics('store', metricsPort);
await releaseStartupHeap();
await runStoreThread({ port: parentPort, openDatabase: () => openFile(path), now: Date.now });
