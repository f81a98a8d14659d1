// Stock Yoga and Pothos over node:http, as their guides show it, answering a crawl from crawlgate's own database file. No
// authentication, no limits, no tenant; Yoga's defaults.
// usage: node bench/baselines/stock-yoga.ts DATABASE_FILE   (prints its address when it listens)
import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import SchemaBuilder from '@pothos/core';
import { createYoga } from 'graphql-yoga';

type Row = { id: string; host: string; state: string; fetched: number; findings_count: number | null; error: string | null };

const [file = ''] = process.argv.slice(2);
const database = new DatabaseSync(file, { readOnly: true });
const read = database.prepare('select id, host, state, fetched, findings_count, error from crawls where id = ?');

const builder = new SchemaBuilder({});
const state = builder.enumType('CrawlState', { values: ['RUNNING', 'DONE', 'FAILED'] as const });
const crawl = builder.objectRef<Row>('Crawl').implement({
  fields: (t) => ({
    id: t.exposeID('id'),
    host: t.exposeString('host'),
    state: t.field({ type: state, resolve: (row) => row.state.toUpperCase() as 'DONE' }),
    urlsCrawled: t.exposeInt('fetched'),
    findingsCount: t.exposeInt('findings_count', { nullable: true }),
    error: t.exposeString('error', { nullable: true }),
  }),
});
builder.queryType({
  fields: (t) => ({
    crawl: t.field({
      type: crawl,
      nullable: true,
      args: { id: t.arg.id({ required: true }) },
      resolve: (_parent, { id }) => (read.get(String(id)) as Row | undefined) ?? null,
    }),
  }),
});

const server = createServer(createYoga({ schema: builder.toSchema(), logging: false }));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`);
});
process.once('SIGTERM', () => process.exit(0));
