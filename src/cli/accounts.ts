import type { Organization } from '#domain/account.ts';
import type { AccountStore } from '#store/store.ts';
import type { Context } from './context.ts';

/** Runs `act` on the store that the configuration names, beside a running server or without one. */
export async function withAccounts<Answer>(context: Context, act: (accounts: AccountStore) => Promise<Answer>): Promise<Answer> {
  // Loaded here, for a server does without it.
  const { openOperatorStore } = await import('#compose/operator-store.ts');
  const store = await openOperatorStore(context.config());
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

/** Throws when there is none. */
export async function organizationOf(accounts: AccountStore, idOrName: string): Promise<Organization> {
  const organization = await accounts.findOrganization(idOrName);
  if (organization === null) throw new Error(`there is no organization ${JSON.stringify(idOrName)}; see \`crawlgate orgs list\``);
  return organization;
}
