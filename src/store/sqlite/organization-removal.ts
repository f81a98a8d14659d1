import type { EpochMs, OrganizationId } from '#domain/ids.ts';
import type { AccountStore, OrganizationRemoval } from '../account-store.ts';
import { createAccountReads } from './account-reads.ts';
import type { EventRelay } from './event-relay.ts';
import type { Sql, Sync } from './sql.ts';
import { CRAWLS_STEP, STEP } from './steps.ts';
import type { Trash } from './trash.ts';

export type OrganizationRemovals = Sync<AccountStore, 'beginOrganizationRemoval' | 'continueOrganizationRemoval'>;

/**
 * One writer, and the mark looked at in the transaction of each write that could bring something in: what a step has found nothing of stays
 * gone, and no writer comes late.
 */
export function createOrganizationRemovals(sql: Sql, now: () => EpochMs, relay: EventRelay, trash: Trash): OrganizationRemovals {
  const reads = createAccountReads(sql);
  const find = (id: OrganizationId): OrganizationRemoval | null =>
    reads.listOrganizationRemovals().find((removal) => removal.id === id) ?? null;

  function discardCrawls(id: OrganizationId): number {
    const crawls = sql.all<{ n: number }>('select n from crawls where organization_id = ? limit ?', id, CRAWLS_STEP);
    for (const { n } of crawls) sql.run('delete from holds where crawl = ?', n);
    trash.discard(crawls);
    return crawls.length;
  }

  /** What was copied in of crawls that never came. */
  function discardIncoming(id: OrganizationId): number {
    const crawls = sql.all<{ n: number }>('select n from incoming where organization_id = ? limit ?', id, CRAWLS_STEP);
    for (const { n } of crawls) {
      sql.run('delete from holds where crawl = ?', n);
      sql.run('insert into trash (crawl) values (?)', n);
      sql.run('delete from incoming where n = ?', n);
    }
    return crawls.length;
  }

  /** `key` tells the organization's records in the table from each other. */
  const removeSome = (table: 'events' | 'idempotency' | 'sites', key: string, id: OrganizationId): number =>
    sql.run(
      `delete from ${table} where organization_id = ?1 and ${key} in (select ${key} from ${table} where organization_id = ?1 limit ?2)`,
      id,
      STEP,
    );

  function removeKeys(id: OrganizationId): number {
    const keys = sql.all<{ id: string }>('select id from api_keys where organization_id = ? limit ?', id, STEP);
    for (const key of keys) {
      sql.run('delete from start_rings where key_id = ?', key.id);
      sql.run('delete from api_keys where id = ?', key.id);
    }
    return keys.length;
  }

  return {
    beginOrganizationRemoval(id) {
      const marked = sql.run('update organizations set removed_at = ? where id = ? and removed_at is null', now(), id) === 1;
      if (marked)
        sql.run('update crawls set lease_token = null, lease_expires_at = null where organization_id = ? and lease_token is not null', id);
      return find(id);
    },
    continueOrganizationRemoval(id) {
      if (find(id) === null) return 0;
      return (
        trash.empty(STEP) ||
        discardCrawls(id) ||
        discardIncoming(id) ||
        // An outbox is as long as what happened within the last second, of all organizations.
        relay.relayEvents(STEP) ||
        removeSome('events', 'seq', id) ||
        removeSome('idempotency', 'key', id) ||
        removeSome('sites', 'id', id) ||
        sql.run('delete from usage where organization_id = ?', id) ||
        removeKeys(id) ||
        sql.run('delete from organizations where id = ?', id)
      );
    },
  };
}
