import type { CrawlId, EpochMs } from '#domain/ids.ts';
import { idempotencyIdOf } from './crawl-ids.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import { atMost, type Database, deleteSome } from './database.ts';
import type { CrawlDocument, TrashDocument } from './documents.ts';
import type { EventRelay } from './event-relay.ts';

/** How crawls go: from the trash on, which is the commit point, whoever comes next finishes it. */
export type Removal = {
  /** Removes a final crawl, with its charge settled and its events relayed; its pages and findings go in small steps. */
  remove(crawl: CrawlDocument): Promise<void>;
  /**
   * One step of what removed crawls leave, and then of what came late to those that were emptied before `lateBefore`, which are forgotten
   * with it. Answers how many records went.
   */
  empty(limit: number, lateBefore: EpochMs): Promise<number>;
};

export function createRemoval(database: Database, steps: CrawlSteps, relay: EventRelay): Removal {
  const { crawls, trash, idempotency, pages, findings } = database;

  async function removeCrawl({ _id, idempotencyId }: Omit<TrashDocument, 'emptiedAt'>): Promise<void> {
    if (idempotencyId !== null) await idempotency.deleteOne({ _id: idempotencyId, crawlId: _id });
    await crawls.deleteOne({ _id });
  }

  const emptySome = async (of: { crawl: CrawlId | { $in: CrawlId[] } }, limit: number): Promise<number> =>
    (await deleteSome(pages, of, limit)) || (await deleteSome(findings, of, limit));

  /** Of many crawls at once: hardly ever has anything come. */
  async function emptyLate(limit: number, before: EpochMs): Promise<number> {
    const entries = await atMost(
      trash.find({ emptiedAt: { $lte: new Date(before) } }, { projection: { _id: 1 } }).sort({ emptiedAt: 1 }),
      limit,
    );
    if (entries.length === 0) return 0;
    const ids = entries.map(({ _id }) => _id);
    return (await emptySome({ crawl: { $in: ids } }, limit)) || (await trash.deleteMany({ _id: { $in: ids } })).deletedCount;
  }

  return {
    async remove(crawl) {
      if (crawl.unsettled === true) await steps.settle(crawl);
      await relay.relayCrawl(crawl, crawl.outbox.length);
      const { _id, organizationId, idempotencyKey } = crawl;
      const idempotencyId = idempotencyKey === null ? null : idempotencyIdOf(organizationId, idempotencyKey);
      await trash.replaceOne({ _id }, { idempotencyId, emptiedAt: null }, { upsert: true });
      await removeCrawl({ _id, idempotencyId });
    },
    async empty(limit, lateBefore) {
      for (;;) {
        const entry = await trash.findOne({ emptiedAt: null });
        if (entry === null) return emptyLate(limit, lateBefore);
        await removeCrawl(entry);
        const removed = await emptySome({ crawl: entry._id }, limit);
        if (removed > 0) return removed;
        await trash.updateOne({ _id: entry._id }, { $currentDate: { emptiedAt: true } });
      }
    },
  };
}
