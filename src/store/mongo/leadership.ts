import type { Filter } from 'mongodb';
import type { EventStore } from '../event-store.ts';
import { type Database, findTimed } from './database.ts';
import type { LeaderDocument } from './documents.ts';
import { ifAbsent, untilWon } from './retry.ts';

export type Leadership = Pick<EventStore, 'acquireLeadership'>;

/**
 * One that was renewed later than now by more than a term has ended, too: the clock was put back, or is that of another server, and nobody
 * would lead until it has caught up.
 */
const ENDED = {
  $or: [
    { $expr: { $lte: [{ $add: ['$renewedAt', '$termMs'] }, '$$NOW'] } },
    { $expr: { $gt: [{ $subtract: ['$renewedAt', '$termMs'] }, '$$NOW'] } },
  ],
};

/** Looks before it writes: of many candidates all but one are answered by a read of one record. */
export const createLeadership = ({ leader }: Database): Leadership => ({
  acquireLeadership: (candidate, termMs) =>
    untilWon(async () => {
      const seen = await findTimed(leader, { _id: 'leader' });
      if (seen === null) {
        await ifAbsent(() => leader.insertOne({ _id: 'leader', candidate, renewedAt: new Date(0), termMs: 0 }));
        return undefined;
      }
      const endsInMs = seen.renewedAt.getTime() + seen.termMs - seen.now.getTime();
      const hasEnded = endsInMs <= 0 || endsInMs > 2 * seen.termMs;
      if (seen.candidate !== candidate && !hasEnded) return endsInMs;
      const won = await leader.updateOne({ _id: 'leader', $or: [{ candidate }, ENDED] } as Filter<LeaderDocument>, {
        $set: { candidate, termMs },
        $currentDate: { renewedAt: true },
      });
      return won.matchedCount === 1 ? 0 : undefined;
    }),
});
