// The bare read: node:http and node:sqlite answering a crawl's six public fields from crawlgate's own database file. No
// authentication, no rate limit, no tenant, no validation, no ETag, no router.
// usage: node bench/baselines/bare-detail.ts DATABASE_FILE   (prints its address when it listens)
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';

const [file = ''] = process.argv.slice(2);
const database = new DatabaseSync(file, { readOnly: true });
const read = database.prepare('select id, host, state, fetched, findings_count, error from crawls where id = ?');
const PREFIX = '/v1/crawls/';

const server = createServer(({ url = '' }, response) => {
  const row = url.startsWith(PREFIX) ? read.get(url.slice(PREFIX.length)) : undefined;
  if (row === undefined) {
    response.writeHead(404).end();
    return;
  }
  const { id, host, state, fetched, findings_count, error } = row;
  const body = JSON.stringify({ id, host, state, urlsCrawled: fetched, findingsCount: findings_count, error });
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
process.once('SIGTERM', () => process.exit(0));
