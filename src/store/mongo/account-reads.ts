import type { ApiKey, Organization } from '#domain/account.ts';
import type { OrganizationId } from '#domain/ids.ts';
import type { AccountStore } from '../account-store.ts';
import type { Database } from './database.ts';
import type { KeyDocument, OrganizationDocument } from './documents.ts';

export const organizationOf = ({ _id, id, monthlyUrlQuota, createdAt }: OrganizationDocument): Organization => ({
  id,
  name: _id,
  monthlyUrlQuota,
  createdAt: createdAt.getTime(),
});

export const keyOf = ({ _id, organizationId, name, prefix, scopes, createdAt, revokedAt }: KeyDocument): ApiKey => ({
  id: _id,
  organizationId,
  name,
  prefix,
  scopes,
  createdAt: createdAt.getTime(),
  revokedAt: revokedAt?.getTime() ?? null,
});

export type AccountReads = Pick<AccountStore, 'listOrganizations' | 'findOrganization' | 'listKeys' | 'findKey' | 'findKeyBySecret'>;

export function createAccountReads({ organizations, keys }: Database): AccountReads {
  const key = (document: KeyDocument | null): ApiKey | null => (document === null ? null : keyOf(document));
  return {
    listOrganizations: async () => (await organizations.find().sort({ _id: 1 }).toArray()).map(organizationOf),
    async findOrganization(idOrName) {
      const found = await organizations.find({ $or: [{ id: idOrName as OrganizationId }, { _id: idOrName }] }).toArray();
      // A name may look like the id of another organization: the id goes first.
      const organization = found.find(({ id }) => id === idOrName) ?? found[0];
      return organization === undefined ? null : organizationOf(organization);
    },
    listKeys: async (organizationId) => (await keys.find({ organizationId }).sort({ createdAt: 1, _id: 1 }).toArray()).map(keyOf),
    findKey: async (id) => key(await keys.findOne({ _id: id })),
    findKeyBySecret: async (secretHash) => key(await keys.findOne({ secretHash, revokedAt: null })),
  };
}
