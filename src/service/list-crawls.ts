import type { Caller } from '#domain/account.ts';
import type { CrawlState } from '#domain/crawl.ts';
import type { CrawlId, SiteId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { CrawlPosition, Store } from '#store/store.ts';
import { type List, type ListInput, readList } from './list.ts';
import { requireScope } from './require-scope.ts';

export type ListCrawlsInput = ListInput & { readonly siteId?: SiteId | undefined; readonly state?: CrawlState | undefined };

/** Newest first. Throws `invalid_cursor`. */
export type ListCrawls = (input: ListCrawlsInput, caller: Caller) => Promise<List<Snapshot>>;

export function createListCrawls({ store }: { readonly store: Pick<Store, 'listCrawls'> }): ListCrawls {
  return async ({ siteId, state, ...input }, caller) => {
    requireScope(caller, 'crawls:read');
    const { organizationId } = caller;
    const filter = { ...(siteId !== undefined && { siteId }), ...(state !== undefined && { state }) };
    return readList<Snapshot>(input, {
      scope: { list: 'crawls', organizationId, filter: { siteId: siteId ?? null, state: state ?? null } },
      positionOf: ({ startedAt, id }) => [startedAt, id],
      parts: ['number', 'string'],
      read(after, limit) {
        if (after === null) return store.listCrawls({ ...filter, organizationId, limit });
        const [startedAt, id] = after as [number, CrawlId]; // `parts` says so
        const position: CrawlPosition = { startedAt, id };
        return store.listCrawls({ ...filter, organizationId, limit, after: position });
      },
    });
  };
}
