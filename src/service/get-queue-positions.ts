import type { Caller } from '#domain/account.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

/** For each of `ids` that waits for a worker its place among the organization's crawls that do, from 1; in one read. */
export type GetQueuePositions = (ids: readonly CrawlId[], caller: Caller) => Promise<ReadonlyMap<CrawlId, number>>;

export function createGetQueuePositions({ store }: { readonly store: Pick<Store, 'getQueuePositions'> }): GetQueuePositions {
  return async (ids, caller) => {
    requireScope(caller, 'crawls:read');
    return store.getQueuePositions(caller.organizationId, ids);
  };
}
