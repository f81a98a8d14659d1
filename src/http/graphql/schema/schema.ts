import { type GraphQLSchema, printSchema } from 'graphql';
import { createBuilder } from './builder.ts';
import { addCrawl } from './crawl.ts';
import { addCrawlUpdated } from './crawl-updated.ts';
import { addCrawls } from './crawls.ts';
import { addEndCrawl } from './end-crawl.ts';
import { addEnums } from './enums.ts';
import { addSite } from './site.ts';
import { addSites } from './sites.ts';
import { addStartCrawl } from './start-crawl.ts';
import { addViewer } from './viewer.ts';

export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  builder.queryType({ description: 'What can be read.' });
  builder.mutationType({ description: 'What can be done.' });
  builder.subscriptionType({ description: 'What can be watched, over WebSocket (`graphql-transport-ws`) or server-sent events.' });
  const enums = addEnums(builder);
  const site = addSite(builder);
  const crawl = addCrawl(builder, enums, site);
  addViewer(builder);
  addCrawls(builder, enums, crawl);
  addSites(builder, site);
  addStartCrawl(builder, crawl);
  addEndCrawl(builder, crawl);
  addCrawlUpdated(builder, crawl);
  return builder.toSchema({ sortSchema: false });
}

/** schema.graphql */
export const schemaText = (): string => `${printSchema(createSchema())}\n`;
