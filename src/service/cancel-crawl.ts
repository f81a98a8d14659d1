import type { Bus } from '#bus/bus.ts';
import type { Caller } from '#domain/account.ts';
import { notFound, Refusal } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

/** Asks a running crawl to end `cancelled`, which it does soon after; repeatable until then. Throws `not_found`, `crawl_final`. */
export type CancelCrawl = (id: CrawlId, caller: Caller) => Promise<Snapshot>;

type Deps = { readonly store: Pick<Store, 'cancelCrawl'>; readonly bus: Pick<Bus, 'publish'> };

export function createCancelCrawl({ store, bus }: Deps): CancelCrawl {
  return async (id, caller) => {
    requireScope(caller, 'crawls:write');
    const outcome = await store.cancelCrawl(caller.organizationId, id);
    if (outcome === null) throw notFound();
    if (outcome === 'final') throw new Refusal('crawl_final', 'The crawl has already ended: there is nothing to cancel.');
    await bus.publish(outcome);
    return outcome;
  };
}
