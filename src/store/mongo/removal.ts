import type { Filter } from 'mongodb';
import type { CrawlId, EpochMs } from '#domain/ids.ts';
import { idempotencyIdOf } from './crawl-ids.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import { atMost, type Database, deleteSome } from './database.ts';
import type { CrawlDocument } from './documents.ts';
import type { EventRelay } from './event-relay.ts';
import { writeAll } from './retry.ts';

/** How crawls go: from the trash on, which is the commit point, whoever comes next finishes it. */
export type Removal = {
  /** Removes a final crawl, with its charge settled and its events relayed; its pages and findings go in small steps. */
  remove(crawl: CrawlDocument): Promise<void>;
  /**
   * Takes up to `limit` crawls away as they are, running ones too, for nothing of their organization is to stay: no charge is settled, no
   * event told. Answers how many; 0: none matches.
   */
  discard(of: Filter<CrawlDocument>, limit: number): Promise<number>;
  /** One step of what removed crawls leave. Answers how many records, or crawls of which nothing was left, were dealt with; 0: all is gone. */
  empty(limit: number): Promise<number>;
  /** One step of what came late to crawls that were emptied before `before`, which are forgotten with it. Answers as `empty`. */
  emptyLate(limit: number, before: EpochMs): Promise<number>;
};

const EMPTIED_AT_ONCE = 50;

export function createRemoval(database: Database, steps: CrawlSteps, relay: EventRelay): Removal {
  const { crawls, trash, idempotency, pages, findings } = database;

  const emptySome = async (ids: CrawlId[], limit: number): Promise<number> =>
    (await deleteSome(pages, { crawl: { $in: ids } }, limit)) || (await deleteSome(findings, { crawl: { $in: ids } }, limit));

  return {
    async remove(crawl) {
      if (crawl.unsettled === true) await steps.settle(crawl);
      await relay.relayCrawl(crawl, crawl.outbox.length);
      const { _id, organizationId, idempotencyKey } = crawl;
      const idempotencyId = idempotencyKey === null ? null : idempotencyIdOf(organizationId, idempotencyKey);
      await trash.replaceOne({ _id }, { idempotencyId, emptiedAt: null }, { upsert: true });
      if (idempotencyId !== null) await idempotency.deleteOne({ _id: idempotencyId, crawlId: _id });
      await crawls.deleteOne({ _id });
    },
    async discard(of, limit) {
      const some = await atMost(crawls.find(of, { projection: { _id: 1 } }), limit);
      if (some.length === 0) return 0;
      const ids = some.map(({ _id }) => _id);
      const discarded = { $set: { idempotencyId: null, emptiedAt: null } } as const;
      await writeAll(
        trash,
        ids.map((_id) => ({ updateOne: { filter: { _id }, update: discarded, upsert: true } })),
      );
      await crawls.deleteMany({ _id: { $in: ids } });
      return ids.length;
    },
    async empty(limit) {
      const entries = await atMost(trash.find({ emptiedAt: null }), EMPTIED_AT_ONCE);
      if (entries.length === 0) return 0;
      const ids = entries.map(({ _id }) => _id);
      const records = entries.flatMap(({ _id, idempotencyId }) => (idempotencyId === null ? [] : [{ _id: idempotencyId, crawlId: _id }]));
      if (records.length > 0) await idempotency.deleteMany({ $or: records });
      await crawls.deleteMany({ _id: { $in: ids } });
      const removed = await emptySome(ids, limit);
      if (removed > 0) return removed;
      const emptied = { $set: { idempotencyId: null }, $currentDate: { emptiedAt: true } } as const;
      await trash.updateMany({ _id: { $in: ids }, emptiedAt: null }, emptied);
      return ids.length;
    },
    /** Of many crawls at once: hardly ever has anything come. */
    async emptyLate(limit, before) {
      const entries = await atMost(
        trash.find({ emptiedAt: { $lte: new Date(before) } }, { projection: { _id: 1 } }).sort({ emptiedAt: 1 }),
        limit,
      );
      if (entries.length === 0) return 0;
      const ids = entries.map(({ _id }) => _id);
      return (await emptySome(ids, limit)) || (await trash.deleteMany({ _id: { $in: ids } })).deletedCount;
    },
  };
}
