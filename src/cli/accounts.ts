import type { Organization } from '#domain/account.ts';
import type { AccountStore, OrganizationRemoval, Store } from '#store/store.ts';
import type { Context } from './context.ts';

/** Runs `act` on the store that the configuration names, beside a running server or without one. */
export async function withStore<Answer>(context: Context, act: (store: Store) => Promise<Answer>): Promise<Answer> {
  // Loaded here, for a server does without it.
  const { openOperatorStore } = await import('#compose/operator-store.ts');
  const store = await openOperatorStore(context.config());
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

/** The same, for what concerns accounts alone. */
export const withAccounts: <Answer>(context: Context, act: (accounts: AccountStore) => Promise<Answer>) => Promise<Answer> = withStore;

/** Throws when there is none. */
export async function organizationOf(accounts: AccountStore, idOrName: string): Promise<Organization> {
  const organization = await accounts.findOrganization(idOrName);
  if (organization !== null) return organization;
  if ((await removalOf(accounts, idOrName)) !== null) throw new Error(`the organization ${JSON.stringify(idOrName)} is being removed`);
  throw noOrganization(idOrName);
}

/** Its removal, which has begun and not ended. */
export async function removalOf(accounts: AccountStore, idOrName: string): Promise<OrganizationRemoval | null> {
  const removals = await accounts.listOrganizationRemovals();
  return removals.find(({ id, name }) => id === idOrName || name === idOrName) ?? null;
}

export const noOrganization = (idOrName: string): Error =>
  new Error(`there is no organization ${JSON.stringify(idOrName)}; see \`crawlgate orgs list\``);
