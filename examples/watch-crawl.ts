// Starts a crawl and follows it live over one WebSocket, with the graphql-ws client. Needs CRAWLGATE_URL and CRAWLGATE_API_KEY.
// Usage: node examples/watch-crawl.ts START_URL
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';

const base = process.env.CRAWLGATE_URL ?? 'http://127.0.0.1:4000';
const client = createClient({
  url: `${base.replace(/^http/, 'ws')}/graphql`,
  webSocketImpl: WebSocket,
  connectionParams: { authorization: `Bearer ${process.env.CRAWLGATE_API_KEY}` },
});

type Crawl = {
  readonly id: string;
  readonly state: string;
  readonly phase: string;
  readonly urlsCrawled: number;
  readonly error: string | null;
};
const FIELDS = 'id state phase urlsCrawled error';

/** The values of an operation; a query or mutation has one. Throws what the server refused it with. */
async function* operate<Data>(query: string, variables: Record<string, unknown>): AsyncGenerator<Data> {
  for await (const { data, errors } of client.iterate<Data>({ query, variables })) {
    if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join(' '));
    if (data !== null && data !== undefined) yield data;
  }
}

const START = `mutation ($input: StartCrawlInput!) { startCrawl(input: $input) { crawl { ${FIELDS} } } }`;
const UPDATED = `subscription ($id: ID!) { crawlUpdated(id: $id) { ${FIELDS} } }`;

for await (const { startCrawl } of operate<{ startCrawl: { crawl: Crawl } }>(START, { input: { url: process.argv[2] } })) {
  const { id } = startCrawl.crawl;
  for await (const { crawlUpdated: crawl } of operate<{ crawlUpdated: Crawl }>(UPDATED, { id })) {
    console.log(`${crawl.state} ${crawl.phase} ${crawl.urlsCrawled} pages${crawl.error === null ? '' : `: ${crawl.error}`}`);
  }
}
await client.dispose();
