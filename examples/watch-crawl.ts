// Starts a crawl and follows it live over one WebSocket, with the graphql-ws client. Needs CRAWLGATE_API_KEY; CRAWLGATE_URL is where
// the service is. Usage: node examples/watch-crawl.ts START_URL
import { randomUUID } from 'node:crypto';
import type { GraphQLFormattedError } from 'graphql';
import { CloseCode, createClient } from 'graphql-ws';
import { type CloseEvent, WebSocket } from 'ws';

const { CRAWLGATE_URL = 'http://127.0.0.1:4000', CRAWLGATE_API_KEY } = process.env;
const [, , startUrl] = process.argv;
if (CRAWLGATE_API_KEY === undefined || startUrl === undefined) {
  console.error('Usage: CRAWLGATE_API_KEY=<key> node examples/watch-crawl.ts START_URL');
  process.exit(2);
}

const isClose = (problem: unknown): problem is CloseEvent => typeof problem === 'object' && problem !== null && 'code' in problem;

let wasConnected = false;
const client = createClient({
  url: `${CRAWLGATE_URL.replace(/^http/, 'ws')}/graphql`,
  webSocketImpl: WebSocket,
  connectionParams: { authorization: `Bearer ${CRAWLGATE_API_KEY}` },
  on: {
    connected() {
      wasConnected = true;
    },
  },
  // A service that stops closes with 1001 and is away for a moment: connect again, and every operation goes on. By default the client
  // gives up when it finds nobody there, and tries again with a key that was refused.
  shouldRetry: (problem) => wasConnected && !(isClose(problem) && problem.code === CloseCode.Forbidden),
});

type Crawl = {
  readonly id: string;
  readonly state: string;
  readonly phase: string;
  readonly urlsCrawled: number;
  readonly error: string | null;
};
const FIELDS = 'id state phase urlsCrawled error';
const START = `mutation ($input: StartCrawlInput!) { startCrawl(input: $input) { crawl { ${FIELDS} } } }`;
const UPDATED = `subscription ($id: ID!) { crawlUpdated(id: $id) { ${FIELDS} } }`;

/** The values of an operation; throws what the service refuses it with. */
async function* valuesOf<Data>(query: string, variables: Record<string, unknown>): AsyncGenerator<Data> {
  for await (const { data, errors } of client.iterate<Data>({ query, variables })) {
    if (errors !== undefined) throw errors;
    if (data != null) yield data;
  }
}

async function* startAndWatch(url: string): AsyncGenerator<Crawl> {
  // A connection that breaks before the answer is here makes the client ask again: with the key there is one crawl all the same.
  const input = { url, idempotencyKey: randomUUID() };
  for await (const { startCrawl } of valuesOf<{ startCrawl: { crawl: Crawl } }>(START, { input })) {
    for await (const { crawlUpdated } of valuesOf<{ crawlUpdated: Crawl }>(UPDATED, { id: startCrawl.crawl.id })) yield crawlUpdated;
  }
}

/** What is wrong with an input stands in `extensions.errors`, a sentence for each place. */
function told({ message, extensions }: GraphQLFormattedError): string {
  const errors = (extensions?.errors ?? []) as readonly { readonly detail: string }[];
  return [message, ...errors.map(({ detail }) => detail)].join(' ');
}

/** The client throws the errors of GraphQL, the closing of the socket, or an error of the connection. */
function reasonOf(problem: unknown): string {
  if (Array.isArray(problem)) return problem.map(told).join(' ');
  if (isClose(problem)) return `The connection was closed: ${problem.code} ${problem.reason}`;
  return `The service cannot be reached at ${CRAWLGATE_URL}: ${(problem as Error).message}`;
}

try {
  for await (const { state, phase, urlsCrawled, error } of startAndWatch(startUrl)) {
    console.log(`${state} ${phase} ${urlsCrawled} crawled${error === null ? '' : `: ${error}`}`);
  }
} catch (problem) {
  console.error(reasonOf(problem));
  process.exitCode = 1;
} finally {
  await client.dispose();
}
