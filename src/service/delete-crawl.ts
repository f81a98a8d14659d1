import type { Caller } from '#domain/account.ts';
import { notFound, Refusal } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

/** Removes a final crawl with its pages and findings; what it used of the quota stays used. Throws `not_found`, `crawl_not_final`. */
export type DeleteCrawl = (id: CrawlId, caller: Caller) => Promise<void>;

export function createDeleteCrawl({ store }: { readonly store: Pick<Store, 'deleteCrawl'> }): DeleteCrawl {
  return async (id, caller) => {
    requireScope(caller, 'crawls:write');
    const outcome = await store.deleteCrawl(caller.organizationId, id);
    if (outcome === null) throw notFound();
    if (outcome === 'not_final') throw new Refusal('crawl_not_final', 'The crawl is running: cancel it first, or wait for its end.');
  };
}
