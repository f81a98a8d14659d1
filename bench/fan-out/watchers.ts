// Many sockets that watch one crawl, by raw messages. Each update carries the time at which it was published as its last field, `error`.
// usage (forked): watchers.ts PORT KEY CRAWL_ID SOCKETS, no key: the bare server
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { clockMs, type WatchersReport } from './messages.ts';

const [port = '', key = '', crawlId = '', count = ''] = process.argv.slice(2);
const sockets = Number(count);
const query = 'subscription($id: ID!) { crawlUpdated(id: $id) { id host state urlsCrawled findingsCount error } }';
const MARK = Buffer.from('"error":"');
const AT_ONCE = 50;

const byUpdate = new Map<number, number[]>();
let lastUpdate: Buffer | null = null;
let [opened, ready, deliveries, wrong] = [0, 0, 0, 0];

function open(): void {
  opened++;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, key === '' ? [] : 'graphql-transport-ws', { perMessageDeflate: false });
  let last = 0;
  let isReady = false;
  const up = (): void => {
    if (isReady) return;
    isReady = true;
    ready++;
    if (opened < sockets) open();
    if (ready === sockets) process.send?.('ready');
  };
  socket.on('open', () => {
    if (key === '') up();
    else socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${key}` } }));
  });
  socket.on('message', (data: Buffer) => {
    const at = clockMs();
    const mark = data.lastIndexOf(MARK);
    if (mark < 0) {
      if (data.includes('"connection_ack"'))
        socket.send(JSON.stringify({ id: randomUUID(), type: 'subscribe', payload: { query, variables: { id: crawlId } } }));
      else up(); // the stored state
      return;
    }
    const sent = Number(data.toString('latin1', mark + 9, data.indexOf(34, mark + 9)));
    if (sent <= last) wrong++;
    last = sent;
    lastUpdate = data;
    deliveries++;
    const times = byUpdate.get(sent) ?? [];
    byUpdate.set(sent, times);
    times.push(at - sent);
  });
  socket.on('close', () => wrong++);
  socket.on('error', () => wrong++);
}
for (let at = 0; at < Math.min(AT_ONCE, sockets); at++) open();

process.once('disconnect', () => process.exit());
process.on('message', () => {
  const p99s = [...byUpdate.values()].map((times) => times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN);
  const form = String(lastUpdate)
    .replace(/[0-9a-f-]{36}/g, '')
    .replace(/\d[\d.]*/g, '0');
  process.send?.({ p99s, deliveries, wrong, form } satisfies WatchersReport);
  byUpdate.clear();
  deliveries = 0;
});
