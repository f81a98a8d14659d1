// The bare write: node:http and node:sqlite storing a start, one durable transaction each (WAL, synchronous=FULL). No
// authentication, no ring, no quota, no site, no event, no validation, no worker.
// usage: node bench/baselines/bare-starts.ts DATABASE_FILE   (prints its address when it listens)
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

const [file = ''] = process.argv.slice(2);
const database = new DatabaseSync(file);
database.exec(`
  pragma journal_mode = wal; pragma synchronous = full;
  create table if not exists crawls (id text primary key, url text not null, state text not null, started_at integer not null);
`);
const insert = database.prepare("insert into crawls (id, url, state, started_at) values (?, ?, 'running', ?)");

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  request.on('end', () => {
    const id = randomUUID();
    insert.run(id, (JSON.parse(text) as { url: string }).url, Date.now());
    const body = JSON.stringify({ id, url: `/v1/crawls/${id}` });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), location: `/v1/crawls/${id}` };
    response.writeHead(202, headers).end(body);
  });
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
process.once('SIGTERM', () => process.exit(0));
