// Apollo Client: a mutation and a query over HTTP, a subscription over WebSocket, one cache for all. Needs CRAWLGATE_API_KEY;
// CRAWLGATE_URL is where the service is. Usage: node examples/apollo-client.ts START_URL
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { OperationTypeNode } from 'graphql';
import { CloseCode, createClient } from 'graphql-ws';
import { type CloseEvent, WebSocket } from 'ws';

const { CRAWLGATE_URL = 'http://127.0.0.1:4000', CRAWLGATE_API_KEY } = process.env;
const [, , startUrl] = process.argv;
if (CRAWLGATE_API_KEY === undefined || startUrl === undefined) {
  console.error('Usage: CRAWLGATE_API_KEY=<key> node examples/apollo-client.ts START_URL');
  process.exit(2);
}
const authorization = `Bearer ${CRAWLGATE_API_KEY}`;

const http = new HttpLink({ uri: `${CRAWLGATE_URL}/graphql`, headers: { authorization } });
const socket = createClient({
  url: `${CRAWLGATE_URL.replace(/^http/, 'ws')}/graphql`,
  webSocketImpl: WebSocket, // a browser has its own
  connectionParams: { authorization },
  // Connect again also when the service is not there yet, but not with a key that was refused.
  shouldRetry: (problem) => (problem as CloseEvent).code !== CloseCode.Forbidden,
});
const client = new ApolloClient({
  link: ApolloLink.split(({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION, new GraphQLWsLink(socket), http),
  cache: new InMemoryCache(),
});

type Crawl = { readonly id: string; readonly state: string; readonly urlsCrawled: number; readonly findingsCount: number | null };

const CRAWL_FIELDS = gql`
  fragment CrawlFields on Crawl {
    id
    state
    urlsCrawled
    findingsCount
  }
`;
const START_CRAWL: TypedDocumentNode<{ startCrawl: { crawl: Crawl } }, { input: { url: string } }> = gql`
  mutation StartCrawl($input: StartCrawlInput!) {
    startCrawl(input: $input) {
      crawl {
        ...CrawlFields
      }
    }
  }
  ${CRAWL_FIELDS}
`;
const CRAWL_UPDATED: TypedDocumentNode<{ crawlUpdated: Crawl }, { id: string }> = gql`
  subscription CrawlUpdated($id: ID!) {
    crawlUpdated(id: $id) {
      ...CrawlFields
    }
  }
  ${CRAWL_FIELDS}
`;
const CRAWLS: TypedDocumentNode<{ crawls: { edges: { node: Crawl }[] } }, { first: number }> = gql`
  query Crawls($first: Int!) {
    crawls(first: $first) {
      edges {
        node {
          ...CrawlFields
        }
      }
    }
  }
  ${CRAWL_FIELDS}
`;

/** What fetch throws when there is no answer says little. */
const reasonOf = (error: unknown): string =>
  error instanceof TypeError ? `The service cannot be reached at ${CRAWLGATE_URL}.` : (error as Error).message;

const told = ({ state, urlsCrawled, findingsCount }: Crawl) => `${state} ${urlsCrawled} crawled, ${findingsCount ?? 'no'} findings`;

try {
  const started = await client.mutate({ mutation: START_CRAWL, variables: { input: { url: startUrl } } });
  if (started.data === undefined) throw new Error('The mutation gave no data.');
  const { crawl } = started.data.startCrawl;
  console.log(`mutation      ${told(crawl)}`);

  await client.subscribe({ query: CRAWL_UPDATED, variables: { id: crawl.id } }).forEach(({ data, error }) => {
    if (error !== undefined) throw error;
    if (data != null) console.log(`subscription  ${told(data.crawlUpdated)}`);
  });

  // Every update went into the cache, under the id of the crawl: whatever shows it shows its final state by now.
  const cached = client.readFragment<Crawl>({ id: `Crawl:${crawl.id}`, fragment: CRAWL_FIELDS });
  if (cached !== null) console.log(`cache         ${told(cached)}`);

  const { data } = await client.query({ query: CRAWLS, variables: { first: 3 } });
  for (const { node } of data?.crawls.edges ?? []) console.log(`query         ${told(node)}`);
} catch (error) {
  console.error(reasonOf(error));
  process.exitCode = 1;
} finally {
  await socket.dispose();
  client.stop();
}
