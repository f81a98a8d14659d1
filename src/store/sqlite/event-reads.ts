import type { EventType } from '#domain/event.ts';
import type { CrawlId, EpochMs, OrganizationId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { EventStore } from '../event-store.ts';
import type { Sql, Sync } from './sql.ts';

type EventRow = {
  organization_id: OrganizationId;
  seq: number;
  key: string;
  type: EventType;
  crawl_id: CrawlId;
  at: number;
  snapshot: string;
};

export type EventReads = Sync<EventStore, 'listEvents' | 'now'>;

export const createEventReads = (sql: Sql, now: () => EpochMs): EventReads => ({
  now,
  listEvents: (organizationId, afterSeq, limit) =>
    sql
      .all<EventRow>(
        `select organization_id, seq, key, type, crawl_id, at, snapshot from events
         where organization_id = ? and seq > ? order by seq limit ?`,
        organizationId,
        afterSeq,
        limit,
      )
      .map(({ organization_id, seq, key, type, crawl_id, at, snapshot }) => ({
        organizationId: organization_id,
        seq,
        key,
        type,
        crawlId: crawl_id,
        at,
        snapshot: JSON.parse(snapshot) as Snapshot,
      })),
});
