import type { EpochMs } from '#domain/ids.ts';
import type { EventStore } from '../event-store.ts';
import type { Sync } from './sql.ts';

export type Leadership = Sync<EventStore, 'acquireLeadership'>;

/**
 * In the memory of the store thread: one process owns the data, and all its candidates ask this thread. When it is replaced nobody
 * leads, until the next one asks.
 */
export function createLeadership(now: () => EpochMs): Leadership {
  let leader: string | null = null;
  let renewedAt = 0;
  let endsAt = 0;
  return {
    acquireLeadership(candidate, termMs) {
      const at = now();
      const wasPutBack = at < renewedAt; // the clock: nobody would lead until it has caught up
      if (leader !== candidate && endsAt > at && !wasPutBack) return endsAt - at;
      leader = candidate;
      renewedAt = at;
      endsAt = at + termMs;
      return 0;
    },
  };
}
