import type { Filter } from 'mongodb';
import type { LeaseToken, OrganizationId } from '#domain/ids.ts';
import { MAX_LOSSES, WORKER_LOST_ERROR } from '#domain/lease.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Claim, RunStore } from '../run-store.ts';
import { isLiving } from './account-reads.ts';
import { LIGHT, snapshotOf } from './crawl-records.ts';
import { type CrawlSteps, HELD, heldBy } from './crawl-steps.ts';
import { type Database, timeOf } from './database.ts';
import type { CrawlDocument } from './documents.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { Removal } from './removal.ts';
import { untilWon } from './retry.ts';
import { upsertSite } from './sites.ts';
import type { Turns } from './turns.ts';

export type LeaseWrites = Pick<RunStore, 'claim' | 'heartbeat' | 'release' | 'reapLeases'>;

const EXPIRY = { $add: ['$lease.beatAt', '$lease.ms'] };
const EXPIRED = { $expr: { $lte: [EXPIRY, '$$NOW'] } };
const LIVE = { $expr: { $gt: [EXPIRY, '$$NOW'] } };
export const LIVE_LEASE = { ...HELD, ...LIVE } as Filter<CrawlDocument>;

/** How many claimable crawls are tried before they are looked for anew: other workers try the same ones. */
const CANDIDATES = 10;
/** Crawls of an organization that is gone, or going, which are taken away when one of them would be claimed. */
const DISCARDED_AT_ONCE = 500;
const CANDIDATE = { organizationId: 1, startedAt: 1, 'lease.token': 1 } as const;
type Candidate = Pick<CrawlDocument, '_id' | 'organizationId' | 'startedAt'> & { readonly lease: Pick<CrawlDocument['lease'], 'token'> };
const byAge = (a: Candidate, b: Candidate): number => a.startedAt.getTime() - b.startedAt.getTime() || (a._id < b._id ? -1 : 1);

export function createLeaseWrites(
  database: Database,
  steps: CrawlSteps,
  quota: QuotaWrites,
  pages: PageWrites,
  removal: Pick<Removal, 'discard'>,
  turns: Turns,
): LeaseWrites {
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
   * The crawl that `token` holds, if there is one, first; then some that are claimable, all of them when there are fewer than `CANDIDATES`.
   * A seek in an index: this is what a worker with nothing to do costs. It reads also what a majority does not have yet, so that a claim
   * whose answer was lost is not taken twice.
   */
  const look = (token: LeaseToken): Promise<Candidate[]> =>
    crawls
      .find({ state: 'running', 'lease.token': { $in: [null, token] } }, { projection: CANDIDATE, readConcern: { level: 'local' } })
      .sort({ 'lease.token': -1 })
      .limit(CANDIDATES)
      .toArray();

  const oldestOf = (organizationId: OrganizationId): Promise<Candidate[]> =>
    crawls
      .find({ state: 'running', organizationId, 'lease.token': null }, { projection: CANDIDATE })
      .sort({ startedAt: 1, _id: 1 })
      .limit(CANDIDATES)
      .toArray();

  /** The oldest crawls of the organization whose turn it is. Where few wait, what was seen of them tells; null when none waits. */
  async function nextOf(seen: readonly Candidate[]): Promise<Candidate[] | null> {
    const [first] = seen;
    if (first === undefined) return null;
    const areAll = seen.length < CANDIDATES;
    const isOneOrganization = areAll && seen.every(({ organizationId }) => organizationId === first.organizationId);
    const next = isOneOrganization ? first.organizationId : ((await turns.next())?.id ?? null);
    if (next === null) return null;
    return areAll ? seen.filter(({ organizationId }) => organizationId === next).toSorted(byAge) : oldestOf(next);
  }

  async function take(candidates: readonly Candidate[], token: LeaseToken, leaseMs: number): Promise<CrawlDocument | undefined> {
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
      const claimed = await untilWon(async () => {
        const seen = await look(token);
        if (seen[0]?.lease.token === token) {
          const held = await crawls.findOne({ _id: seen[0]._id, 'lease.token': token }, { readConcern: { level: 'local' } });
          return held === null ? undefined : { crawl: held, at: await timeOf(database) };
        }
        const candidates = await nextOf(seen);
        if (candidates === null) return null;
        const [first] = candidates;
        if (first !== undefined && !(await isLiving(database, first.organizationId))) {
          await removal.discard({ organizationId: first.organizationId }, DISCARDED_AT_ONCE);
          return undefined;
        }
        const taken = await take(candidates, token, leaseMs);
        return taken === undefined ? undefined : { crawl: taken, at: taken.lease.beatAt?.getTime() ?? 0 };
      });
      return claimed === null ? null : claimOf(claimed.crawl, token, claimed.at);
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
