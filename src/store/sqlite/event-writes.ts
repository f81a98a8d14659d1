import type { EpochMs } from '#domain/ids.ts';
import { TOMBSTONE_MS } from '#domain/quota.ts';
import type { EventStore } from '../event-store.ts';
import type { Sql, Sync } from './sql.ts';

type OutboxRow = { n: number; organization_id: string; key: string };

/** The most records that one step of the sweep removes: a step holds up other writes for a few milliseconds. */
const SWEEP_STEP = 500;
const SWEEP_CRAWLS = 50;

export type EventWrites = Sync<EventStore, 'relayEvents' | 'sweep'>;

export function createEventWrites(sql: Sql, now: () => EpochMs): EventWrites {
  /** Pages and findings of one removed crawl. */
  function emptyTrash(): number {
    for (;;) {
      const crawl = sql.get<{ crawl: number }>('select crawl from trash order by crawl limit 1')?.crawl;
      if (crawl === undefined) return 0;
      const removed =
        sql.run(
          'delete from pages where crawl = ?1 and seq in (select seq from pages where crawl = ?1 order by seq limit ?2)',
          crawl,
          SWEEP_STEP,
        ) ||
        sql.run(
          `delete from findings where crawl = ?1
           and (run, ordinal) in (select run, ordinal from findings where crawl = ?1 order by run, ordinal limit ?2)`,
          crawl,
          SWEEP_STEP,
        );
      if (removed > 0) return removed;
      sql.run('delete from trash where crawl = ?', crawl);
    }
  }

  function retireCrawls(before: EpochMs): number {
    const old = sql.all<{ n: number }>(
      'select n from crawls indexed by crawls_finished where finished_at < ? and finished_at is not null order by finished_at limit ?',
      before,
      SWEEP_CRAWLS,
    );
    for (const { n } of old) {
      sql.run('insert into trash (crawl) values (?)', n);
      sql.run('delete from crawls where n = ?', n);
    }
    return old.length;
  }

  return {
    relayEvents(limit) {
      const waiting = sql.all<OutboxRow>('select n, organization_id, key from outbox order by n limit ?', limit);
      for (const { n, organization_id: organizationId, key } of waiting) {
        if (sql.get('select 1 from events where organization_id = ? and key = ?', organizationId, key) === undefined) {
          sql.run('update organizations set last_event_seq = last_event_seq + 1 where id = ?', organizationId);
          sql.run(
            `insert into events (organization_id, seq, key, type, crawl_id, at, snapshot)
             select organization_id, last_event_seq, key, type, crawl_id, at, snapshot
             from outbox cross join organizations on organizations.id = organization_id where n = ?`,
            n,
          );
        }
        sql.run('delete from outbox where n = ?', n);
      }
      return waiting.length;
    },
    sweep({ crawlsMs, idempotencyMs }) {
      const at = now();
      return (
        emptyTrash() ||
        retireCrawls(at - crawlsMs) ||
        sql.run(
          `delete from events where (organization_id, seq) in
           (select organization_id, seq from events indexed by events_by_age where at < ? order by at limit ?)`,
          at - crawlsMs,
          SWEEP_STEP,
        ) ||
        sql.run(
          `delete from idempotency where (organization_id, key) in
           (select organization_id, key from idempotency indexed by idempotency_by_age where created_at < ? order by created_at limit ?)`,
          at - idempotencyMs,
          SWEEP_STEP,
        ) ||
        sql.run(
          `delete from holds where (crawl, month) in
           (select crawl, month from holds indexed by holds_closed where closed_at <= ? and closed_at is not null order by closed_at limit ?)`,
          at - TOMBSTONE_MS,
          SWEEP_STEP,
        ) ||
        sql.run(
          `delete from robots where origin in
           (select origin from robots indexed by robots_by_expiry where expires_at <= ? order by expires_at limit ?)`,
          at,
          SWEEP_STEP,
        )
      );
    },
  };
}
