import type { Caller } from '#domain/account.ts';
import type { OrganizationId } from '#domain/ids.ts';

/** Tells a valid key whose it is; any scope will do. */
export const ping = (caller: Caller): { readonly ok: true; readonly organizationId: OrganizationId } => ({
  ok: true,
  organizationId: caller.organizationId,
});
