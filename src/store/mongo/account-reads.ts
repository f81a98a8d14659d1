import type { ApiKey, Organization } from '#domain/account.ts';
import type { OrganizationId } from '#domain/ids.ts';
import type { AccountStore, OrganizationRemoval } from '../account-store.ts';
import type { Database } from './database.ts';
import type { KeyDocument, OrganizationDocument } from './documents.ts';

export const organizationOf = ({ _id, id, monthlyUrlQuota, createdAt }: OrganizationDocument): Organization => ({
  id,
  name: _id,
  monthlyUrlQuota,
  createdAt: createdAt.getTime(),
});

/** Of organizations: none that is being removed, or only such. */
export const LIVING = { removedAt: { $exists: false } } as const;
export const REMOVED = { removedAt: { $exists: true } } as const;

/** Whether there is an organization of that id, and none that is being removed. */
export const isLiving = async ({ organizations }: Pick<Database, 'organizations'>, id: OrganizationId): Promise<boolean> =>
  (await organizations.findOne({ id, ...LIVING }, { projection: { _id: 1 } })) !== null;

export const removalOf = ({ _id, id, removedAt }: OrganizationDocument): OrganizationRemoval => ({
  id,
  name: _id,
  removedAt: removedAt?.getTime() ?? 0,
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

/** A key with what there is of its organization. */
type OwnedKey = KeyDocument & { readonly organization: readonly OrganizationDocument[] };

export type AccountReads = Pick<
  AccountStore,
  'listOrganizations' | 'findOrganization' | 'listOrganizationRemovals' | 'listKeys' | 'findKey' | 'findKeyBySecret'
>;

export function createAccountReads({ organizations, keys }: Database): AccountReads {
  return {
    listOrganizations: async () => (await organizations.find(LIVING).sort({ _id: 1 }).toArray()).map(organizationOf),
    async findOrganization(idOrName) {
      const found = await organizations.find({ $or: [{ id: idOrName as OrganizationId }, { _id: idOrName }], ...LIVING }).toArray();
      // A name may look like the id of another organization: the id goes first.
      const organization = found.find(({ id }) => id === idOrName) ?? found[0];
      return organization === undefined ? null : organizationOf(organization);
    },
    listOrganizationRemovals: async () => (await organizations.find(REMOVED).sort({ _id: 1 }).toArray()).map(removalOf),
    listKeys: async (organizationId) => (await keys.find({ organizationId }).sort({ createdAt: 1, _id: 1 }).toArray()).map(keyOf),
    async findKey(id) {
      const found = await keys.findOne({ _id: id });
      return found === null ? null : keyOf(found);
    },
    async findKeyBySecret(secretHash) {
      const [found] = await keys
        .aggregate<OwnedKey>([
          { $match: { secretHash, revokedAt: null } },
          { $lookup: { from: organizations.collectionName, localField: 'organizationId', foreignField: 'id', as: 'organization' } },
          { $limit: 1 },
        ])
        .toArray();
      return found?.organization.some(({ removedAt }) => removedAt === undefined) ? keyOf(found) : null;
    },
  };
}
