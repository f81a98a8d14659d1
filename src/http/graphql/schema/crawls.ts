import { Refusal } from '#domain/errors.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { CrawlsFilter, CrawlsPage } from '#service/page-crawls.ts';
import type { Builder } from './builder.ts';
import type { CrawlRef } from './crawl.ts';
import type { Enums } from './enums.ts';
import { crawlIdOf, filterSiteId } from './ids.ts';

/** What a connection's own fields need beside its edges. */
type Counted = { readonly filter: CrawlsFilter };

export function addCrawls(builder: Builder, enums: Enums, crawl: CrawlRef): void {
  builder.queryField('crawl', (t) =>
    t.field({
      type: crawl,
      nullable: true,
      description: 'A crawl; null when there is none with this id that the API key can see. Needs the scope `crawls:read`.',
      args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
      async resolve(_parent, { id }, { service, caller }) {
        const crawlId = crawlIdOf(id);
        if (crawlId === null) return null;
        return service.getCrawl(crawlId, caller).catch(absentAsNull);
      },
    }),
  );

  const filter = builder.inputType('CrawlFilter', {
    description: 'Which crawls; all that is given must hold.',
    fields: (t) => ({
      state: t.field({ type: enums.state, description: 'Only crawls in this state.' }),
      siteId: t.id({ description: 'Only crawls of this site; an unknown one lists nothing.' }),
      host: t.string({ description: 'Only crawls of this host, whatever the port; in punycode.' }),
    }),
  });

  builder.queryField('crawls', (t) =>
    t.connection(
      {
        type: crawl,
        description: 'Crawls, the newest first. Without `first` and `last` it gives the first 50. Needs the scope `crawls:read`.',
        args: { filter: t.arg({ type: filter, description: 'Which crawls; all when absent.' }) },
        async resolve(_parent, { first, after, last, before, filter }, { service, caller }) {
          const wanted: CrawlsFilter = {
            state: filter?.state ?? undefined,
            siteId: filter?.siteId == null ? undefined : filterSiteId(filter.siteId),
            host: filter?.host?.toLowerCase(),
          };
          const input = { first: first ?? undefined, after: after ?? undefined, last: last ?? undefined, before: before ?? undefined };
          return { ...connectionOf(await service.pageCrawls({ ...input, filter: wanted }, caller)), filter: wanted };
        },
      },
      {
        name: 'CrawlConnection',
        description: 'A part of a list of crawls.',
        fields: (t) => ({
          totalCount: t.int({
            nullable: true,
            description: 'How many crawls match, counted up to 10,000; counted only when it is asked for. Null only with an error.',
            resolve: (parent, _args, { service, caller }) => service.countCrawls((parent as typeof parent & Counted).filter, caller),
          }),
        }),
      },
      { name: 'CrawlEdge', description: 'A crawl and its place in the list.' },
    ),
  );
}

function absentAsNull(error: unknown): null {
  if (error instanceof Refusal && error.code === 'not_found') return null;
  throw error;
}

function connectionOf({ items, cursorOf, hasNext, hasPrevious }: CrawlsPage) {
  const edges = items.map((node: Snapshot) => ({ cursor: cursorOf(node), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: hasNext,
      hasPreviousPage: hasPrevious,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}
