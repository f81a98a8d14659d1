// The bare fan-out: a `ws` server that sends every socket the same bytes that a watcher of crawlgate gets. No protocol, no GraphQL.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { clockMs, serve } from './messages.ts';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false, backlog: 4096 });
server.on('connection', (socket) => {
  socket.on('message', () => {});
  socket.on('error', () => {});
});
await once(server, 'listening');
const id = '00000000-0000-4000-8000-000000000000'; // as long as an operation id and a crawl id
let urlsCrawled = 0;
serve({ port: (server.address() as AddressInfo).port, key: '', crawlId: id }, () => {
  urlsCrawled++;
  const crawlUpdated = { id, host: 'example.com', state: 'RUNNING', urlsCrawled, findingsCount: null, error: String(clockMs()) };
  const text = JSON.stringify({ id, type: 'next', payload: { data: { crawlUpdated } } });
  for (const socket of server.clients) if (socket.readyState === socket.OPEN) socket.send(text);
});
