import type { OrganizationId } from '#domain/ids.ts';
import type { RunStore } from '../run-store.ts';
import { isLiving } from './account-reads.ts';
import { HELD } from './crawl-steps.ts';
import type { Database } from './database.ts';

type Turn = { readonly id: OrganizationId; readonly leases: number };

/** Whose turn it is among the organizations. */
export type Turns = {
  readonly port: Pick<RunStore, 'whoYields'>;
  /** With the fewest leases, among equal ones the longest waiting; null when nobody waits. */
  next(): Promise<Turn | null>;
};

const LEASED = { $gt: ['$lease.token', null] };

export function createTurns(database: Database): Turns {
  const { crawls } = database;

  async function next(): Promise<Turn | null> {
    const [first] = await crawls
      .aggregate<{ _id: OrganizationId; leases: number }>([
        { $match: { state: 'running' } },
        {
          $group: {
            _id: '$organizationId',
            leases: { $sum: { $cond: [LEASED, 1, 0] } },
            waiting: { $sum: { $cond: [LEASED, 0, 1] } },
            since: { $min: { $cond: [LEASED, null, '$startedAt'] } },
          },
        },
        { $match: { waiting: { $gt: 0 } } },
        { $sort: { leases: 1, since: 1 } },
        { $limit: 1 },
      ])
      .toArray();
    return first === undefined ? null : { id: first._id, leases: first.leases };
  }

  /** Of those that have a lease. */
  async function mostServed(among: readonly OrganizationId[]): Promise<Turn | null> {
    const [most] = await crawls
      .aggregate<{ _id: OrganizationId; leases: number }>([
        { $match: { state: 'running', organizationId: { $in: [...among] }, ...HELD } },
        { $group: { _id: '$organizationId', leases: { $sum: 1 } } },
        { $sort: { leases: -1, _id: 1 } },
        { $limit: 1 },
      ])
      .toArray();
    return most === undefined ? null : { id: most._id, leases: most.leases };
  }

  return {
    port: {
      async whoYields(organizationIds) {
        // A seek in an index: mostly nobody waits.
        if ((await crawls.findOne({ state: 'running', 'lease.token': null }, { projection: { _id: 1 } })) === null) return null;
        const turn = await next();
        if (turn === null || !(await isLiving(database, turn.id))) return null;
        const most = await mostServed(organizationIds);
        return most !== null && most.leases > turn.leases + 1 ? most.id : null;
      },
    },
    next,
  };
}
