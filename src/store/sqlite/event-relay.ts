import type { EventStore } from '../event-store.ts';
import type { Sql, Sync } from './sql.ts';

type OutboxRow = { n: number; organization_id: string; key: string };

export type EventRelay = Sync<EventStore, 'relayEvents'>;

export const createEventRelay = (sql: Sql): EventRelay => ({
  relayEvents(limit) {
    const waiting = sql.all<OutboxRow>('select n, organization_id, key from outbox order by n limit ?', limit);
    for (const { n, organization_id: organizationId, key } of waiting) {
      const isThere = sql.get('select 1 from events where organization_id = ? and key = ?', organizationId, key) !== undefined;
      // An event of an organization that is being removed gets no number, and so goes with its outbox entry.
      const count = 'update organizations set last_event_seq = last_event_seq + 1 where id = ? and removed_at is null';
      if (!isThere && sql.run(count, organizationId) === 1)
        sql.run(
          `insert into events (organization_id, seq, key, type, crawl_id, at, snapshot)
           select organization_id, last_event_seq, key, type, crawl_id, at, snapshot
           from outbox cross join organizations on organizations.id = organization_id where n = ?`,
          n,
        );
      sql.run('delete from outbox where n = ?', n);
    }
    return waiting.length;
  },
});
