import type { EpochMs } from '#domain/ids.ts';
import { TOMBSTONE_MS } from '#domain/quota.ts';
import type { EventStore } from '../event-store.ts';
import { createAccountReads } from './account-reads.ts';
import type { OrganizationRemovals } from './organization-removal.ts';
import type { Sql, Sync } from './sql.ts';
import { CRAWLS_STEP, STEP } from './steps.ts';
import type { Trash } from './trash.ts';

export type EventWrites = Sync<EventStore, 'sweep'>;

export function createEventWrites(sql: Sql, now: () => EpochMs, trash: Trash, removals: OrganizationRemovals): EventWrites {
  const { listOrganizationRemovals } = createAccountReads(sql);

  function removeOrganizations(): number {
    const [first] = listOrganizationRemovals();
    return first === undefined ? 0 : removals.continueOrganizationRemoval(first.id);
  }

  function retireCrawls(before: EpochMs): number {
    const old = sql.all<{ n: number }>(
      'select n from crawls indexed by crawls_finished where finished_at < ? and finished_at is not null order by finished_at limit ?',
      before,
      CRAWLS_STEP,
    );
    trash.discard(old);
    return old.length;
  }

  return {
    sweep({ crawlsMs, idempotencyMs }) {
      const at = now();
      return (
        removeOrganizations() ||
        trash.empty(STEP) ||
        retireCrawls(at - crawlsMs) ||
        sql.run(
          `delete from events where (organization_id, seq) in
           (select organization_id, seq from events indexed by events_by_age where at < ? order by at limit ?)`,
          at - crawlsMs,
          STEP,
        ) ||
        sql.run(
          `delete from idempotency where (organization_id, key) in
           (select organization_id, key from idempotency indexed by idempotency_by_age where created_at < ? order by created_at limit ?)`,
          at - idempotencyMs,
          STEP,
        ) ||
        sql.run(
          `delete from holds where (crawl, month) in
           (select crawl, month from holds indexed by holds_closed where closed_at <= ? and closed_at is not null order by closed_at limit ?)`,
          at - TOMBSTONE_MS,
          STEP,
        ) ||
        sql.run(
          `delete from robots where origin in
           (select origin from robots indexed by robots_by_expiry where expires_at <= ? order by expires_at limit ?)`,
          at,
          STEP,
        )
      );
    },
  };
}
