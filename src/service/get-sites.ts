import type { Caller } from '#domain/account.ts';
import type { SiteId } from '#domain/ids.ts';
import type { SiteRecord, Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

/** The organization's sites among `ids`, in one read, by id; another organization's is as absent as one that does not exist. */
export type GetSites = (ids: readonly SiteId[], caller: Caller) => Promise<ReadonlyMap<SiteId, SiteRecord>>;

export function createGetSites({ store }: { readonly store: Pick<Store, 'getSites'> }): GetSites {
  return async (ids, caller) => {
    requireScope(caller, 'crawls:read');
    const sites = await store.getSites(caller.organizationId, ids);
    return new Map(sites.map((site) => [site.id, site]));
  };
}
