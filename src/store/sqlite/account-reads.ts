import type { ApiKey, Organization, Scope } from '#domain/account.ts';
import type { KeyId, OrganizationId } from '#domain/ids.ts';
import type { AccountStore, OrganizationRemoval } from '../account-store.ts';
import type { Sql, Sync } from './sql.ts';

type OrganizationRow = { id: OrganizationId; name: string; monthly_url_quota: number; created_at: number };
type KeyRow = {
  id: KeyId;
  organization_id: OrganizationId;
  name: string;
  prefix: string;
  scopes: string;
  created_at: number;
  revoked_at: number | null;
};

const ORGANIZATION = 'id, name, monthly_url_quota, created_at';
/** Of which none is being removed. */
const LIVING = 'removed_at is null';
const KEY = 'id, organization_id, name, prefix, scopes, created_at, revoked_at';
const KEY_BY_SECRET = `select ${KEY} from api_keys where secret_hash = ? and revoked_at is null
  and exists (select 1 from organizations where organizations.id = organization_id and ${LIVING})`;

const organizationOf = (row: OrganizationRow): Organization => ({
  id: row.id,
  name: row.name,
  monthlyUrlQuota: row.monthly_url_quota,
  createdAt: row.created_at,
});

const keyOf = (row: KeyRow): ApiKey => ({
  id: row.id,
  organizationId: row.organization_id,
  name: row.name,
  prefix: row.prefix,
  scopes: JSON.parse(row.scopes) as Scope[],
  createdAt: row.created_at,
  revokedAt: row.revoked_at,
});

export type AccountReads = Sync<
  AccountStore,
  'listOrganizations' | 'findOrganization' | 'listOrganizationRemovals' | 'listKeys' | 'findKey' | 'findKeyBySecret'
>;

export function createAccountReads(sql: Sql): AccountReads {
  const key = (row: KeyRow | undefined): ApiKey | null => (row === undefined ? null : keyOf(row));
  return {
    listOrganizations: () =>
      sql.all<OrganizationRow>(`select ${ORGANIZATION} from organizations where ${LIVING} order by name`).map(organizationOf),
    findOrganization(idOrName) {
      const row =
        sql.get<OrganizationRow>(`select ${ORGANIZATION} from organizations where id = ? and ${LIVING}`, idOrName) ??
        sql.get<OrganizationRow>(`select ${ORGANIZATION} from organizations where name = ? and ${LIVING}`, idOrName);
      return row === undefined ? null : organizationOf(row);
    },
    listOrganizationRemovals: () =>
      sql.all<OrganizationRemoval>(
        `select id, name, removed_at as removedAt from organizations indexed by organizations_removed
         where removed_at is not null order by name`,
      ),
    listKeys: (organizationId) =>
      sql.all<KeyRow>(`select ${KEY} from api_keys where organization_id = ? order by created_at, id`, organizationId).map(keyOf),
    findKey: (id) => key(sql.get<KeyRow>(`select ${KEY} from api_keys where id = ?`, id)),
    findKeyBySecret: (hash) => key(sql.get<KeyRow>(KEY_BY_SECRET, hash)),
  };
}
