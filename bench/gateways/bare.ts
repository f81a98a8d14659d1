// The bare way: a `ws` server that hears of one crawl through Redis and sends each message to every socket as it is. No protocol, no
// GraphQL, no store. usage (forked): bare.ts BUS_URL CRAWL_ID
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { WebSocketServer } from 'ws';

const [busUrl = '', crawlId = ''] = process.argv.slice(2);
const redis = new Redis(busUrl);
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => socket.on('message', () => socket.send('{}')));
redis.on('message', (_channel, text: string) => {
  for (const socket of server.clients) socket.send(text);
});
await redis.subscribe(`crawlgate:crawl:${crawlId}`);
if (server.address() === null) await once(server, 'listening');
process.send?.((server.address() as AddressInfo).port);
process.once('disconnect', () => process.exit());
