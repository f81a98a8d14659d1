import type { ApiKey, Caller, Organization } from '#domain/account.ts';
import { notFound } from '#domain/errors.ts';
import type { Store } from '#store/store.ts';

/** The organization that the caller's key belongs to; any scope will do. */
export type GetOrganization = (caller: Caller) => Promise<Organization>;
/** The caller's own key; any scope will do. */
export type GetApiKey = (caller: Caller) => Promise<ApiKey>;

export function createGetOrganization({ store }: { readonly store: Pick<Store, 'findOrganization'> }): GetOrganization {
  return async ({ organizationId }) => {
    const organization = await store.findOrganization(organizationId);
    if (organization === null) throw notFound();
    return organization;
  };
}

export function createGetApiKey({ store }: { readonly store: Pick<Store, 'findKey'> }): GetApiKey {
  return async ({ keyId }) => {
    const key = await store.findKey(keyId);
    if (key === null) throw notFound();
    return key;
  };
}
