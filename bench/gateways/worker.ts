// A worker that fetches nothing, on the real MongoDB store and the real Redis bus. It begins when it is told, and answers when each
// batch was stored and published. usage (forked): worker.ts STORE_URL BUS_URL MILLISECONDS
import { once } from 'node:events';
import { createRedisBus } from '#bus/redis.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from '#store/mongo/open.ts';
import { createLog } from '#telemetry.ts';
import { runMadeUpCrawl } from '../lib/made-up-crawl.ts';

const [storeUrl = '', busUrl = '', ms = ''] = process.argv.slice(2);
const log = createLog('warn', process.stderr);
const store = await openMongoStore({ url: storeUrl, log, settings: DEFAULT_MONGO_SETTINGS });
const bus = createRedisBus({ url: busUrl, log });
await bus.started;
const told = once(process, 'message');
process.send?.('ready');
await told;
const report = await runMadeUpCrawl(store, bus, Number(ms));
process.send?.(report);
await bus.close();
await store.close();
if (process.connected) process.disconnect();
