// What the compiler refuses. Never run: `npm run check` fails when one of these mistakes is no error any more.
import type { ResultOf, VariablesOf } from 'gql.tada';
import { graphql } from './graphql.ts';

const Crawl = graphql(`
  query Crawl($id: ID!) {
    crawl(id: $id) {
      state
      findingsCount
    }
  }
`);

type CrawlData = NonNullable<ResultOf<typeof Crawl>['crawl']>;

// @ts-expect-error: the operation did not ask for this field.
export type NotAsked = CrawlData['urlsCrawled'];

// @ts-expect-error: null until analysis has completed.
export const count = (crawl: CrawlData): number => crawl.findingsCount;

// @ts-expect-error: states are RUNNING, DONE and FAILED.
export const isOver = ({ state }: CrawlData): boolean => state === 'FINISHED';

// @ts-expect-error: a variable is missing.
export const variables: VariablesOf<typeof Crawl> = {};
