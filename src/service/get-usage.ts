import type { Caller } from '#domain/account.ts';
import { organizationGone } from '#domain/errors.ts';
import type { Usage } from '#domain/quota.ts';
import type { Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

/** The organization's current month; `used` is exact at any instant. */
export type GetUsage = (caller: Caller) => Promise<Usage>;

export function createGetUsage({ store }: { readonly store: Pick<Store, 'getUsage'> }): GetUsage {
  return async (caller) => {
    requireScope(caller, 'crawls:read');
    const usage = await store.getUsage(caller.organizationId);
    if (usage === null) throw organizationGone();
    return usage;
  };
}
