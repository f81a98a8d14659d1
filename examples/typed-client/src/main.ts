// Starts a crawl and follows it live with urql; every variable and every field is checked against schema.graphql. Needs
// CRAWLGATE_API_KEY; CRAWLGATE_URL is where the service is. Usage: npm start -- START_URL
import { Client, CombinedError, fetchExchange, subscriptionExchange } from '@urql/core';
import { type FragmentOf, readFragment } from 'gql.tada';
import { CloseCode, createClient } from 'graphql-ws';
import { toAsyncIterable } from 'wonka';
import { graphql } from './graphql.ts';

const { CRAWLGATE_URL = 'http://127.0.0.1:4000', CRAWLGATE_API_KEY } = process.env;
const [, , startUrl] = process.argv;
if (CRAWLGATE_API_KEY === undefined || startUrl === undefined) {
  console.error('Usage: CRAWLGATE_API_KEY=<key> npm start -- START_URL');
  process.exit(2);
}
const authorization = `Bearer ${CRAWLGATE_API_KEY}`;

const socket = createClient({
  url: `${CRAWLGATE_URL.replace(/^http/, 'ws')}/graphql`,
  connectionParams: { authorization },
  // Connect again also when the service is not there yet, but not with a key that was refused.
  shouldRetry: (problem) => (problem as CloseEvent).code !== CloseCode.Forbidden,
});
const client = new Client({
  url: `${CRAWLGATE_URL}/graphql`,
  fetchOptions: { headers: { authorization } },
  preferGetMethod: false,
  exchanges: [
    fetchExchange,
    subscriptionExchange({
      forwardSubscription: ({ query = '', variables }) => ({
        subscribe: (sink) => ({ unsubscribe: socket.subscribe({ query, variables }, sink) }),
      }),
    }),
  ],
});

const CrawlFields = graphql(`
  fragment CrawlFields on Crawl {
    state
    phase
    urlsCrawled
    findingsCount
    error
  }
`);
const StartCrawl = graphql(`
  mutation StartCrawl($input: StartCrawlInput!) {
    startCrawl(input: $input) {
      crawl {
        id
      }
    }
  }
`);
const CrawlUpdated = graphql(
  `
    subscription CrawlUpdated($id: ID!) {
      crawlUpdated(id: $id) {
        ...CrawlFields
      }
    }
  `,
  [CrawlFields],
);

function show(fragment: FragmentOf<typeof CrawlFields>): void {
  const crawl = readFragment(CrawlFields, fragment);
  console.log(`${crawl.state} ${crawl.phase} ${crawl.urlsCrawled} crawled, ${crawl.findingsCount ?? 'no'} findings. ${crawl.error ?? ''}`);
}

/** What fetch throws when there is no answer says little. */
const reasonOf = (error: unknown): string =>
  error instanceof CombinedError && error.networkError instanceof TypeError
    ? `The service cannot be reached at ${CRAWLGATE_URL}.`
    : (error as Error).message;

try {
  const started = await client.mutation(StartCrawl, { input: { url: startUrl } });
  if (!started.data) throw started.error;
  const { id } = started.data.startCrawl.crawl;
  for await (const { data, error, hasNext } of toAsyncIterable(client.subscription(CrawlUpdated, { id }))) {
    if (error) throw error;
    if (data && hasNext) show(data.crawlUpdated); // once it has completed, urql gives the last value again
  }
} catch (error) {
  console.error(reasonOf(error));
  process.exitCode = 1;
} finally {
  await socket.dispose();
}
