import type { OrganizationId } from '#domain/ids.ts';
import type { RunStore } from '../run-store.ts';
import { LIVING, WAITING } from './crawl-rows.ts';
import type { Sql, Sync } from './sql.ts';

const LEASES = 'select count(*) as leases from crawls indexed by crawls_leased where lease_token is not null and organization_id';

/** The organization whose turn it is, and how many leases it has: the fewest, and among equal ones it has waited longest. */
export const NEXT_ORGANIZATION = `
  ${WAITING}
  select id, leases from (
    select id, (${LEASES} = waiting.id) as leases,
      (select min(started_at) from crawls indexed by crawls_claimable
       where state = 'running' and lease_token is null and organization_id = waiting.id) as since
    from waiting where id is not null and ${LIVING}
  ) order by leases, since limit 1`;

type Turn = { id: string; leases: number };

export type Turns = Sync<RunStore, 'whoYields'>;

export function createTurns(sql: Sql): Turns {
  const leasesOf = (id: OrganizationId): number => sql.get<Pick<Turn, 'leases'>>(`${LEASES} = ?`, id)?.leases ?? 0;
  return {
    whoYields(organizationIds) {
      const next = sql.get<Turn>(NEXT_ORGANIZATION);
      if (next === undefined) return null;
      const [most] = organizationIds.map((id) => ({ id, leases: leasesOf(id) })).toSorted((a, b) => b.leases - a.leases);
      return most !== undefined && most.leases > next.leases + 1 ? most.id : null;
    },
  };
}
