// One crawl that goes on in a thread of its own, and whoever tells of it: crawlgate's gateway, or with `bare` a `ws` server that sends
// each snapshot that it hears of, with neither protocol nor GraphQL. Store, commits, bus and coalescing are the same for both.
// usage (forked): server.ts bare|crawlgate MILLISECONDS
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { MessageChannel, Worker } from 'node:worker_threads';
import { WebSocketServer } from 'ws';
import type { CrawlId } from '#domain/ids.ts';
import { openEmbedded } from '../lib/embedded.ts';
import type { CrawlReport } from '../lib/made-up-crawl.ts';
import type { CrawlThreadData, LatencyServerReady } from './messages.ts';

const [who = '', ms = ''] = process.argv.slice(2);
const { path, key, bus, snapshot, listen, link } = await openEmbedded('latency');

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

const { port1, port2: busPort } = new MessageChannel();
bus.attach(port1);
const storePort = link();
const workerData: CrawlThreadData = { path, storePort, busPort };
const crawl = new Worker(new URL('./crawl-thread.ts', import.meta.url), { workerData, transferList: [storePort, busPort] });
crawl.on('message', (report: CrawlReport) => process.send?.(report));
await once(crawl, 'online');
process.on('message', () => crawl.postMessage(Number(ms)));
process.once('disconnect', () => process.exit());
const port = who === 'bare' ? await serveBare(snapshot.id) : await listen();
process.send?.({ port, key, crawlId: snapshot.id } satisfies LatencyServerReady);
