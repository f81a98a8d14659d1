// A crawler thread that fetches nothing: it begins when it is told for how long, and answers when each batch was stored and published.
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { createLocalBus } from '#bus/local.ts';
import { linkSqliteStore } from '#store/sqlite/link.ts';
import { createLog } from '#telemetry.ts';
import { runMadeUpCrawl } from '../lib/made-up-crawl.ts';
import type { CrawlThreadData } from './messages.ts';

const { path, storePort, busPort } = workerData as CrawlThreadData;
if (parentPort === null) throw new Error('not started as a thread');
const main = parentPort;
const store = linkSqliteStore({ path, port: storePort });
const bus = createLocalBus({ log: createLog('warn', process.stderr) });
bus.attach(busPort);
const [ms] = (await once(main, 'message')) as [number];
main.postMessage(await runMadeUpCrawl(store, bus, ms));
await once(main, 'message');
await bus.close();
await store.close();
main.close();
