import type { Filter } from 'mongodb';
import type { LeaseToken, OrganizationId } from '#domain/ids.ts';
import { MAX_LOSSES, WORKER_LOST_ERROR } from '#domain/lease.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Claim, RunStore } from '../run-store.ts';
import { LIGHT, snapshotOf } from './crawl-records.ts';
import { type CrawlSteps, heldBy } from './crawl-steps.ts';
import { type Database, timeOf } from './database.ts';
import type { CrawlDocument } from './documents.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';
import { untilWon } from './retry.ts';
import { upsertSite } from './sites.ts';

export type LeaseWrites = Pick<RunStore, 'claim' | 'heartbeat' | 'release' | 'reapLeases'>;

const HELD = { 'lease.token': { $gt: '' } };
const EXPIRY = { $add: ['$lease.beatAt', '$lease.ms'] };
const EXPIRED = { $expr: { $lte: [EXPIRY, '$$NOW'] } };
const LIVE = { $expr: { $gt: [EXPIRY, '$$NOW'] } };
export const LIVE_LEASE = { ...HELD, ...LIVE } as Filter<CrawlDocument>;

/** How many of an organization's oldest crawls are tried before its turn is counted anew: other workers try the same ones. */
const CANDIDATES = 10;

export function createLeaseWrites(database: Database, steps: CrawlSteps, quota: QuotaWrites, pages: PageWrites): LeaseWrites {
  const { crawls } = database;

  const leasesOn = (authority: string): Promise<number> => crawls.countDocuments({ authority, ...LIVE_LEASE });

  /** The claim of a crawl whose lease is had: what the last worker committed is brought into the pages before this one reads them. */
  async function claimOf(crawl: CrawlDocument, token: LeaseToken, claimedAt: number): Promise<Claim> {
    if (crawl.pending !== null) await pages.apply(crawl._id, crawl.pending);
    if (crawl.phase === 'queued') await upsertSite(database, crawl);
    const [holds, leasesOnAuthority] = await Promise.all([quota.holdsOf(crawl), leasesOn(crawl.authority)]);
    return { snapshot: snapshotOf(crawl), token, batch: crawl.batch, holds, ending: crawl.ending, leasesOnAuthority, claimedAt };
  }

  /**
   * Whether `token` holds a crawl, else whether one is claimable, by one seek in an index: what a worker with nothing to do costs. Reads
   * also what a majority does not have yet, so that a claim whose answer was lost is not taken twice.
   */
  async function look(token: LeaseToken): Promise<'held' | 'claimable' | 'nothing'> {
    const found = await crawls.findOne(
      { state: 'running', 'lease.token': { $in: [null, token] } },
      { sort: { 'lease.token': -1 }, projection: { 'lease.token': 1 }, readConcern: { level: 'local' } },
    );
    if (found === null) return 'nothing';
    return found.lease.token === token ? 'held' : 'claimable';
  }

  /** The organization whose turn it is: with the fewest leases, among equal ones the longest waiting. */
  async function nextOrganization(): Promise<OrganizationId | null> {
    const leased = { $gt: ['$lease.token', null] };
    const [next] = await crawls
      .aggregate<{ _id: OrganizationId }>([
        { $match: { state: 'running' } },
        {
          $group: {
            _id: '$organizationId',
            leases: { $sum: { $cond: [leased, 1, 0] } },
            waiting: { $sum: { $cond: [leased, 0, 1] } },
            since: { $min: { $cond: [leased, null, '$startedAt'] } },
          },
        },
        { $match: { waiting: { $gt: 0 } } },
        { $sort: { leases: 1, since: 1 } },
        { $limit: 1 },
      ])
      .toArray();
    return next?._id ?? null;
  }

  async function takeOldest(organizationId: OrganizationId, token: LeaseToken, leaseMs: number): Promise<CrawlDocument | undefined> {
    const candidates = await crawls
      .find({ state: 'running', organizationId, 'lease.token': null }, { projection: { _id: 1 } })
      .sort({ startedAt: 1, _id: 1 })
      .limit(CANDIDATES)
      .toArray();
    for (const { _id } of candidates) {
      const taken = await crawls.findOneAndUpdate(
        { _id, state: 'running', 'lease.token': null },
        { $set: { 'lease.token': token, 'lease.ms': leaseMs }, $currentDate: { 'lease.beatAt': true } },
        { returnDocument: 'after' },
      );
      if (taken !== null) return taken;
    }
    return undefined;
  }

  /** Null when a late heartbeat, or another reaper, came first, or when it was not the last loss. */
  async function lose(crawl: CrawlDocument): Promise<Snapshot | null> {
    if (crawl.losses + 1 >= MAX_LOSSES) return steps.end(crawl, EXPIRED, { endReason: 'worker_lost', error: WORKER_LOST_ERROR }, null);
    const seen = { _id: crawl._id, state: 'running', 'lease.token': crawl.lease.token, ...EXPIRED } as Filter<CrawlDocument>;
    await crawls.updateOne(seen, { $set: { 'lease.token': null }, $inc: { losses: 1 } });
    return null;
  }

  return {
    async claim(token, leaseMs) {
      const seen = await look(token);
      if (seen === 'nothing') return null;
      if (seen === 'held') {
        const held = await crawls.findOne({ state: 'running', 'lease.token': token }, { readConcern: { level: 'local' } });
        if (held !== null) return claimOf(held, token, await timeOf(database));
      }
      const taken = await untilWon(async () => {
        const organization = await nextOrganization();
        return organization === null ? null : takeOldest(organization, token, leaseMs);
      });
      return taken === null ? null : claimOf(taken, token, taken.lease.beatAt?.getTime() ?? 0);
    },
    async heartbeat(crawlId, token, leaseMs) {
      const crawl = await crawls.findOneAndUpdate(
        heldBy(crawlId, token),
        { $set: { 'lease.ms': leaseMs }, $currentDate: { 'lease.beatAt': true } },
        { returnDocument: 'after', projection: LIGHT },
      );
      if (crawl === null) return 'lost';
      return { cancelRequested: crawl.cancelRequested, leasesOnAuthority: await leasesOn(crawl.authority) };
    },
    async release(crawlId, token) {
      await crawls.updateOne(heldBy(crawlId, token), { $set: { 'lease.token': null } });
    },
    async reapLeases() {
      const expired = await crawls.find({ state: 'running', ...HELD, ...EXPIRED } as Filter<CrawlDocument>).toArray();
      const ended: Snapshot[] = [];
      for (const crawl of expired) {
        const snapshot = await lose(crawl);
        if (snapshot !== null) ended.push(snapshot);
      }
      await steps.settleEnded();
      return ended;
    },
  };
}
