import type { Caller } from '#domain/account.ts';
import type { StartAllowance } from '#domain/start-ring.ts';
import type { Store } from '#store/store.ts';

/** What the caller's key may still start; needs no scope, as it accompanies refusals too. */
export type GetStartAllowance = (caller: Caller) => Promise<StartAllowance>;

export function createGetStartAllowance({ store }: { readonly store: Pick<Store, 'getStartAllowance'> }): GetStartAllowance {
  return (caller) => store.getStartAllowance(caller.keyId);
}
