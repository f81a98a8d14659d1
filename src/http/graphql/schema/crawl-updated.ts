import type { Builder } from './builder.ts';
import type { CrawlRef } from './crawl.ts';

export function addCrawlUpdated(builder: Builder, crawl: CrawlRef): void {
  builder.subscriptionField('crawlUpdated', (t) =>
    t.field({
      type: crawl,
      description: `With \`id\`: the crawl as it is stored, at once; then as it changes, at most 5 times a second, each time with a higher \`version\` (versions may be left out); its final state always, and then the subscription completes. A crawl that has ended already gives one value. Without \`id\`: every crawl of the organization as it changes, for as long as you stay; nothing at first.

Ends with the error \`not_found\` when there is no such crawl (any more), \`unauthorized\` when the key is revoked, \`unavailable\` when you should subscribe again. Needs the scope \`crawls:read\`.`,
      args: { id: t.arg.id({ description: 'The crawl; all of the organization when absent.' }) },
      subscribe: (_parent, { id }, { service, caller }) =>
        id == null ? service.watchOrganization(caller) : service.watchCrawl(id, caller),
      resolve: (snapshot) => snapshot,
    }),
  );
}
