import type { Filter } from 'mongodb';
import type { EventStore } from '../event-store.ts';
import { type Database, findTimed } from './database.ts';
import type { LeaderDocument } from './documents.ts';
import { ifAbsent, untilWon } from './retry.ts';

export type Leadership = Pick<EventStore, 'acquireLeadership'>;

const ENDED = { $expr: { $lte: [{ $add: ['$renewedAt', '$termMs'] }, '$$NOW'] } };

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
      if (seen.candidate !== candidate && endsInMs > 0) return endsInMs;
      const won = await leader.updateOne({ _id: 'leader', $or: [{ candidate }, ENDED] } as Filter<LeaderDocument>, {
        $set: { candidate, termMs },
        $currentDate: { renewedAt: true },
      });
      return won.matchedCount === 1 ? 0 : undefined;
    }),
});
