import type { Filter } from 'mongodb';
import { type Ending, stateOf } from '#domain/crawl.ts';
import { type EventType, eventKeyOf } from '#domain/event.ts';
import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { LIGHT, type LightCrawl, snapshotOf } from './crawl-records.ts';
import type { Database } from './database.ts';
import type { CrawlDocument, OutboxEntry } from './documents.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';

/** The steps that the changes of a crawl are made of. */
export type CrawlSteps = {
  /** The crawl, while `token` holds its lease and it runs. */
  leased(id: CrawlId, token: LeaseToken): Promise<LightCrawl | null>;
  /**
   * Ends the crawl as it was seen: its last batch applied, then the commit point, then quota back and the findings of other runs
   * removed; what a crash leaves of that is done by `settleEnded`. Null, with nothing ended, when the crawl has changed since it was
   * seen, or `expected` does not hold.
   */
  end(seen: CrawlDocument, expected: Filter<CrawlDocument>, ending: Ending, findingsCount: number | null): Promise<Snapshot | null>;
  /** What follows the end of one crawl. Repeatable. */
  settle(crawl: LightCrawl): Promise<void>;
  /** What follows the end of crawls whose worker died in the midst of it. */
  settleEnded(): Promise<void>;
};

/** What a running crawl's filter is while `token` holds it. */
export const heldBy = (_id: CrawlId, token: LeaseToken): Filter<CrawlDocument> => ({ _id, 'lease.token': token, state: 'running' });

/** What the filter of a crawl is while anybody has its lease, one that has expired included. */
export const HELD = { 'lease.token': { $gt: '' } };

export const outboxEntry = (type: EventType, snapshot: Snapshot): OutboxEntry => ({ key: eventKeyOf(snapshot.id, type), type, snapshot });

const SETTLED_AT_ONCE = 100;

export function createCrawlSteps({ crawls, findings }: Database, quota: QuotaWrites, pages: PageWrites): CrawlSteps {
  const settle: CrawlSteps['settle'] = async (crawl) => {
    await quota.settle(crawl);
    await findings.deleteMany({ crawl: crawl._id, run: { $ne: crawl.findingsRun as LeaseToken } });
    await crawls.updateOne({ _id: crawl._id }, { $unset: { unsettled: '' } });
  };
  return {
    leased: (id, token) => crawls.findOne(heldBy(id, token), { projection: LIGHT }),
    async end(seen, expected, { endReason, error }, findingsCount) {
      if (seen.pending !== null) await pages.apply(seen._id, seen.pending);
      const state = stateOf(endReason);
      const changes = { state, phase: 'finished', endReason, error, findingsCount, cancelRequested: false } as const;
      const snapshot = { ...snapshotOf(seen), ...changes, version: seen.version + 1 };
      const ended = await crawls.findOneAndUpdate(
        { _id: seen._id, state: 'running', 'lease.token': seen.lease.token, version: seen.version, ...expected },
        {
          $set: {
            ...changes,
            findingsRun: findingsCount === null ? null : seen.lease.token,
            ending: null,
            pending: null,
            'lease.token': null,
            unsettled: true,
          },
          $inc: { version: 1 },
          $push: { outbox: outboxEntry(`crawl.${state}`, snapshot) },
          $currentDate: { finishedAt: true, changedAt: true },
        },
        { returnDocument: 'after', projection: LIGHT },
      );
      if (ended === null) return null;
      await settle(ended);
      return snapshotOf(ended);
    },
    settle,
    async settleEnded() {
      const ended = await crawls.find({ unsettled: true }, { projection: LIGHT }).limit(SETTLED_AT_ONCE).toArray();
      for (const crawl of ended) await settle(crawl);
    },
  };
}
