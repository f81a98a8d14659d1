// One crawl that goes on in a thread of its own, and whoever tells of it: crawlgate's gateway, or with `bare` a `ws` server that sends
// each snapshot that it hears of, with neither protocol nor GraphQL. Store, commits, bus and coalescing are the same for both.
// usage (forked): server.ts bare|crawlgate MILLISECONDS
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { WebSocketServer } from 'ws';
import { createLocalBus } from '#bus/local.ts';
import { SCOPES } from '#domain/account.ts';
import { type CrawlId, DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID } from '#domain/ids.ts';
import { newSecret, storedSecretOf } from '#domain/key-secret.ts';
import { createHttpServer } from '#http/server.ts';
import { createService } from '#service/service.ts';
import { openSqliteStore } from '#store/sqlite/open.ts';
import { createLog } from '#telemetry.ts';
import { systemTimers } from '#worker/timers.ts';
import type { CrawlReport } from '../lib/made-up-crawl.ts';
import type { CrawlThreadData, LatencyServerReady } from './messages.ts';

const [who = '', ms = ''] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'crawlgate-latency-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const log = createLog('warn', process.stderr);
const path = join(directory, 'crawlgate.db');
const opened = await openSqliteStore({ path, threadEntry: new URL('../../src/compose/store-thread.ts', import.meta.url), log });
const { store } = opened;
const key = newSecret();
await store.ensureDefaults(
  { id: DEFAULT_ORGANIZATION_ID, name: 'default', monthlyUrlQuota: 100_000 },
  { id: DEFAULT_KEY_ID, organizationId: DEFAULT_ORGANIZATION_ID, name: 'default', scopes: SCOPES, ...storedSecretOf(key) },
);
const bus = createLocalBus({ log });
const timers = systemTimers;
const service = createService({ store, bus, describeRule: () => null, allowedNetworks: [], readLimitPerMinute: 600, timers, log });
const { snapshot } = await service.startCrawl({ url: 'https://example.com/', maxUrls: 10_000 }, await service.authenticate(key));

async function serveBare(id: CrawlId): Promise<number> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  server.on('connection', (socket) => socket.on('message', () => socket.send(JSON.stringify(snapshot))));
  await bus.subscribe({ kind: 'crawl', id }, (update) => {
    const text = JSON.stringify(update);
    for (const socket of server.clients) socket.send(text);
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function serve(): Promise<number> {
  const http = createHttpServer({ service, log, publicUrl: null, isReady: () => true, timers, corsOrigins: [] });
  return (await http.listen({ host: '127.0.0.1', port: 0 })).port;
}

const { port1, port2: busPort } = new MessageChannel();
bus.attach(port1);
const storePort = opened.link();
const workerData: CrawlThreadData = { path, storePort, busPort };
const crawl = new Worker(new URL('./crawl-thread.ts', import.meta.url), { workerData, transferList: [storePort, busPort] });
crawl.on('message', (report: CrawlReport) => process.send?.(report));
await once(crawl, 'online');
process.on('message', () => crawl.postMessage(Number(ms)));
process.once('disconnect', () => process.exit());
const port = who === 'bare' ? await serveBare(snapshot.id) : await serve();
process.send?.({ port, key, crawlId: snapshot.id } satisfies LatencyServerReady);
