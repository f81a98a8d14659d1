import type { Caller } from '#domain/account.ts';
import { notFound } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Page, PageStatus } from '#domain/page.ts';
import type { Store } from '#store/store.ts';
import { type List, type ListInput, readList } from './list.ts';
import { requireScope } from './require-scope.ts';

export type ListPagesInput = ListInput & { readonly status?: PageStatus | undefined };

/** In order of discovery; a running crawl's list may trail by one batch. Throws `not_found`, `invalid_cursor`. */
export type ListPages = (id: CrawlId, input: ListPagesInput, caller: Caller) => Promise<List<Page>>;

export function createListPages({ store }: { readonly store: Pick<Store, 'listPages'> }): ListPages {
  return async (id, { status, ...input }, caller) => {
    requireScope(caller, 'crawls:read');
    const { organizationId } = caller;
    return readList<Page>(input, {
      scope: { list: 'pages', organizationId, filter: { crawl: id, status: status ?? null } },
      positionOf: ({ seq }) => [seq],
      parts: ['number'],
      async read(after, limit) {
        const query = { limit, ...(status !== undefined && { status }), ...(after !== null && { afterSeq: Number(after[0]) }) };
        const pages = await store.listPages(organizationId, id, query);
        if (pages === null) throw notFound();
        return pages;
      },
    });
  };
}
