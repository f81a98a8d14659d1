import type { ApiKey } from '#domain/account.ts';
import type { EpochMs, KeyId } from '#domain/ids.ts';
import type { AccountStore, NewApiKey, NewOrganization } from '../account-store.ts';
import { createAccountReads } from './account-reads.ts';
import type { Sql, Sync } from './sql.ts';

export type AccountWrites = Sync<
  AccountStore,
  'ensureDefaults' | 'createOrganization' | 'setMonthlyUrlQuota' | 'createKey' | 'rotateKey' | 'revokeKey'
>;

export function createAccountWrites(sql: Sql, now: () => EpochMs): AccountWrites {
  const reads = createAccountReads(sql);

  // An id that exists is left as it is: the first insert wins, and a repeated call changes nothing.
  const insertOrganization = ({ id, name, monthlyUrlQuota }: NewOrganization): number =>
    sql.run(
      'insert into organizations (id, name, monthly_url_quota, created_at) values (?, ?, ?, ?) on conflict (id) do nothing',
      id,
      name,
      monthlyUrlQuota,
      now(),
    );
  const insertKey = (key: NewApiKey): number =>
    sql.run(
      `insert into api_keys (id, organization_id, name, secret_hash, prefix, scopes, created_at) values (?, ?, ?, ?, ?, ?, ?)
       on conflict (id) do nothing`,
      key.id,
      key.organizationId,
      key.name,
      key.secretHash,
      key.prefix,
      JSON.stringify(key.scopes),
      now(),
    );
  const mustFind = (id: KeyId): ApiKey => {
    const key = reads.findKey(id);
    if (key === null) throw new Error(`The key ${id} was written and is not there.`);
    return key;
  };

  return {
    ensureDefaults(organization, key) {
      insertOrganization(organization);
      return { keyCreated: insertKey(key) === 1 };
    },
    createOrganization(organization) {
      const named = sql.get<{ id: string }>('select id from organizations where name = ?', organization.name);
      if (named !== undefined && named.id !== organization.id) return 'taken';
      insertOrganization(organization);
      return reads.findOrganization(organization.id) ?? 'taken';
    },
    setMonthlyUrlQuota(id, monthlyUrlQuota) {
      sql.run('update organizations set monthly_url_quota = ? where id = ? and removed_at is null', monthlyUrlQuota, id);
      const organization = reads.findOrganization(id);
      return organization?.id === id ? organization : null;
    },
    createKey(key) {
      if (reads.findOrganization(key.organizationId)?.id !== key.organizationId)
        throw new RangeError(`There is no organization ${key.organizationId}.`);
      insertKey(key);
      return mustFind(key.id);
    },
    rotateKey(id, { secretHash, prefix }) {
      const text = 'update api_keys set secret_hash = ?, prefix = ? where id = ? and revoked_at is null';
      return sql.run(text, secretHash, prefix, id) === 1 ? mustFind(id) : null;
    },
    revokeKey(id) {
      sql.run('update api_keys set revoked_at = ? where id = ? and revoked_at is null', now(), id);
      return reads.findKey(id);
    },
  };
}
