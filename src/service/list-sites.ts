import type { Caller } from '#domain/account.ts';
import type { SiteRecord, Store } from '#store/store.ts';
import { type CursorList, type ListInput, readList } from './list.ts';
import { requireScope } from './require-scope.ts';

/** By authority. Throws `invalid_cursor`. */
export type ListSites = (input: ListInput, caller: Caller) => Promise<CursorList<SiteRecord>>;

export function createListSites({ store }: { readonly store: Pick<Store, 'listSites'> }): ListSites {
  return async (input, caller) => {
    requireScope(caller, 'crawls:read');
    const { organizationId } = caller;
    return readList<SiteRecord>(input, {
      scope: { list: 'sites', organizationId, filter: {} },
      positionOf: ({ authority }) => [authority],
      parts: ['string'],
      read: (after, limit) => store.listSites({ organizationId, limit, ...(after !== null && { after: String(after[0]) }) }),
    });
  };
}
