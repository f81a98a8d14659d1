import type { Month, PageBatch } from '#domain/batch.ts';
import type { EpochMs, OrganizationId } from '#domain/ids.ts';
import { chunkOf, freeOf, type Hold } from '#domain/quota.ts';
import type { Grant } from '../run-store.ts';
import type { SnapshotRow } from './crawl-rows.ts';
import type { Sql } from './sql.ts';

type UsageRow = { used: number; reserved: number };

/**
 * The quota's arithmetic on rows. `usage.reserved` is the sum of `granted − used` over the open holds of that month, kept by each
 * step here. The lease is checked in the same transaction, so that no late grant can leak into a settled hold.
 */
export type QuotaWrites = {
  /** Null when the organization does not exist. */
  limitOf(organizationId: OrganizationId): number | null;
  /** What is charged so far. */
  usedIn(organizationId: OrganizationId, month: Month): number;
  holdsOf(crawl: number): Hold[];
  grant(crawl: SnapshotRow, month: Month, wanted: number): Grant;
  /** Throws a `RangeError` when the crawl does not hold that many unused pages. */
  charge(crawl: SnapshotRow, charges: PageBatch['charges']): void;
  /** Closes the holds and gives back what is unused. */
  settle(crawl: SnapshotRow, at: EpochMs): void;
};

export function createQuotaWrites(sql: Sql): QuotaWrites {
  const usageOf = (organizationId: OrganizationId, month: Month): UsageRow =>
    sql.get<UsageRow>('select used, reserved from usage where organization_id = ? and month = ?', organizationId, month) ?? {
      used: 0,
      reserved: 0,
    };
  const limitOf = (organizationId: OrganizationId): number | null =>
    sql.get<{ monthly_url_quota: number }>(
      'select monthly_url_quota from organizations where id = ? and removed_at is null',
      organizationId,
    )?.monthly_url_quota ?? null;
  const holdsOf = (crawl: number): Hold[] =>
    sql
      .all<Hold>('select month, granted, used from holds where crawl = ? and closed_at is null order by month', crawl)
      .map(({ month, granted, used }) => ({ month, granted, used }));

  return {
    limitOf,
    holdsOf,
    usedIn: (organizationId, month) => usageOf(organizationId, month).used,
    grant({ n, organization_id: organizationId }, month, wanted) {
      const usage = usageOf(organizationId, month);
      const hold = holdsOf(n).find((one) => one.month === month) ?? { granted: 0, used: 0 };
      const chunk = chunkOf(freeOf({ limit: limitOf(organizationId) ?? 0, ...usage }), wanted);
      // A crawl that still holds unused pages is told of them: the answer to its last grant may have been lost.
      if (chunk === 0 && wanted > 0 && hold.granted === hold.used) return { kind: usage.reserved > 0 ? 'wait' : 'exhausted' };
      if (chunk > 0) {
        sql.run(
          `insert into usage (organization_id, month, reserved) values (?, ?, ?)
           on conflict (organization_id, month) do update set reserved = reserved + excluded.reserved`,
          organizationId,
          month,
          chunk,
        );
        sql.run(
          `insert into holds (crawl, month, granted) values (?, ?, ?)
           on conflict (crawl, month) do update set granted = granted + excluded.granted`,
          n,
          month,
          chunk,
        );
      }
      return { kind: 'granted', granted: hold.granted + chunk, used: hold.used };
    },
    charge({ n, id, organization_id: organizationId }, charges) {
      for (const [month, pages] of Object.entries(charges)) {
        const text = 'update holds set used = used + ?1 where crawl = ?2 and month = ?3 and used + ?1 <= granted';
        if (pages < 0 || sql.run(text, pages, n, month) === 0)
          throw new RangeError(`The crawl ${id} does not hold ${pages} unused pages of ${month}.`);
        sql.run(
          'update usage set used = used + ?1, reserved = reserved - ?1 where organization_id = ?2 and month = ?3',
          pages,
          organizationId,
          month,
        );
      }
    },
    settle({ n, organization_id: organizationId }, at) {
      for (const { month, granted, used } of holdsOf(n)) {
        const text = 'update usage set reserved = reserved - ? where organization_id = ? and month = ?';
        sql.run(text, granted - used, organizationId, month);
      }
      sql.run('update holds set closed_at = ? where crawl = ? and closed_at is null', at, n);
    },
  };
}
