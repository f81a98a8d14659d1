import type { EventStore } from '../event-store.ts';
import { atMost, type Database, timeOf } from './database.ts';

export type EventReads = Pick<EventStore, 'listEvents' | 'now'>;

export const createEventReads = (database: Database): EventReads => ({
  now: () => timeOf(database),
  async listEvents(organizationId, afterSeq, limit) {
    const found = await atMost(
      database.events.find({ organizationId, seq: { $gt: afterSeq } }, { projection: { _id: 0 } }).sort({ seq: 1 }),
      limit,
    );
    return found.map(({ at, ...event }) => ({ ...event, at: at.getTime() }));
  },
});
