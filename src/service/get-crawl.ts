import type { Caller } from '#domain/account.ts';
import { notFound } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

/** Throws `not_found`, also for another organization's crawl. */
export type GetCrawl = (id: CrawlId, caller: Caller) => Promise<Snapshot>;

export function createGetCrawl({ store }: { readonly store: Pick<Store, 'getCrawl'> }): GetCrawl {
  return async (id, caller) => {
    requireScope(caller, 'crawls:read');
    const snapshot = await store.getCrawl(caller.organizationId, id);
    if (snapshot === null) throw notFound();
    return snapshot;
  };
}
