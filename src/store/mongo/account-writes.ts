import type { ApiKey } from '#domain/account.ts';
import type { KeyId } from '#domain/ids.ts';
import { monthOf } from '#domain/quota.ts';
import type { AccountStore, NewApiKey, NewOrganization } from '../account-store.ts';
import { createAccountReads, isLiving, keyOf, LIVING, organizationOf } from './account-reads.ts';
import { type Database, findLatest, timeOf } from './database.ts';
import type { QuotaWrites } from './quota-writes.ts';
import { ifAbsent } from './retry.ts';

export type AccountWrites = Pick<
  AccountStore,
  'ensureDefaults' | 'createOrganization' | 'setMonthlyUrlQuota' | 'createKey' | 'rotateKey' | 'revokeKey'
>;

export function createAccountWrites(database: Database, quota: QuotaWrites): AccountWrites {
  const { organizations, keys } = database;
  const reads = createAccountReads(database);

  // An upsert that matches nothing but an absent record: the server's time of the insert needs an update.
  const insertOrganization = ({ id, name, monthlyUrlQuota }: NewOrganization): Promise<boolean> =>
    ifAbsent(() =>
      organizations.updateOne(
        { _id: name, createdAt: { $exists: false } },
        { $setOnInsert: { id, monthlyUrlQuota, quotaVersion: 1, sweptSeq: 0 }, $currentDate: { createdAt: true } },
        { upsert: true },
      ),
    );
  const insertKey = ({ id, organizationId, name, secretHash, prefix, scopes }: NewApiKey): Promise<boolean> =>
    ifAbsent(() =>
      keys.updateOne(
        { _id: id, createdAt: { $exists: false } },
        {
          $setOnInsert: { organizationId, name, secretHash, prefix, scopes: [...scopes], revokedAt: null },
          $currentDate: { createdAt: true },
        },
        { upsert: true },
      ),
    );
  const mustFind = async (id: KeyId): Promise<ApiKey> => {
    const key = await findLatest(keys, { _id: id });
    if (key === null) throw new Error(`The key ${id} was written and is not there.`);
    return keyOf(key);
  };

  return {
    async ensureDefaults(organization, key) {
      await insertOrganization(organization);
      return { keyCreated: await insertKey(key) };
    },
    async createOrganization(organization) {
      const known = await organizations.findOne({ id: organization.id, ...LIVING });
      if (known !== null) return organizationOf(known);
      await insertOrganization(organization);
      const named = await findLatest(organizations, { _id: organization.name });
      return named === null || named.id !== organization.id || named.removedAt !== undefined ? 'taken' : organizationOf(named);
    },
    async setMonthlyUrlQuota(id, monthlyUrlQuota) {
      const changed = await organizations.findOneAndUpdate(
        { id, ...LIVING },
        { $set: { monthlyUrlQuota }, $inc: { quotaVersion: 1 } },
        { returnDocument: 'after' },
      );
      if (changed === null) return null;
      // From here on no grant can be made under the old limit; a month without a record takes the new one when it gets it.
      await quota.usageOf(id, monthOf(await timeOf(database)));
      return organizationOf(changed);
    },
    async createKey(key) {
      if (!(await isLiving(database, key.organizationId))) throw new RangeError(`There is no organization ${key.organizationId}.`);
      await insertKey(key);
      return mustFind(key.id);
    },
    async rotateKey(id, { secretHash, prefix }) {
      const rotated = await keys.findOneAndUpdate(
        { _id: id, revokedAt: null },
        { $set: { secretHash, prefix } },
        { returnDocument: 'after' },
      );
      return rotated === null ? null : keyOf(rotated);
    },
    async revokeKey(id) {
      await keys.updateOne({ _id: id, revokedAt: null }, { $currentDate: { revokedAt: true } });
      return reads.findKey(id);
    },
  };
}
