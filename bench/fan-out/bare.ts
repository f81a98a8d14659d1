// The bare fan-out: a `ws` server that sends every socket the same bytes that a watcher of crawlgate gets. No protocol, no GraphQL.
// usage (forked): bare.ts [PACKAGE ...]; the packages are loaded, and not used; each message to it is the time at which an update was published
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { releaseStartupHeap } from '#compose/startup-heap.ts';

const packages = process.argv.slice(2);
for (const name of packages) await import(name);
if (packages.length > 0) await releaseStartupHeap(); // as a gateway does

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false, backlog: 4096 });
server.on('connection', (socket) => {
  socket.on('message', () => {});
  socket.on('error', () => {});
});
await once(server, 'listening');
const id = '00000000-0000-4000-8000-000000000000'; // as long as an operation id and a crawl id
let urlsCrawled = 0;
process.on('message', (publishedAt: string) => {
  urlsCrawled++;
  const crawlUpdated = { id, host: 'example.com', state: 'RUNNING', urlsCrawled, findingsCount: null, error: publishedAt };
  const text = JSON.stringify({ id, type: 'next', payload: { data: { crawlUpdated } } });
  for (const socket of server.clients) if (socket.readyState === socket.OPEN) socket.send(text);
});
process.once('disconnect', () => process.exit());
process.send?.((server.address() as AddressInfo).port);
