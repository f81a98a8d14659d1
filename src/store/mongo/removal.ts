import { idempotencyIdOf } from './crawl-ids.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import { type Database, deleteSome } from './database.ts';
import type { CrawlDocument, TrashDocument } from './documents.ts';
import type { EventRelay } from './event-relay.ts';

/** How crawls go: from the trash on, which is the commit point, whoever comes next finishes it. */
export type Removal = {
  /** Removes a final crawl, with its charge settled and its events relayed; its pages and findings go in small steps. */
  remove(crawl: CrawlDocument): Promise<void>;
  /** One step of what removed crawls leave; answers how many records went. */
  empty(limit: number): Promise<number>;
};

export function createRemoval(database: Database, steps: CrawlSteps, relay: EventRelay): Removal {
  const { crawls, trash, idempotency, pages, findings } = database;

  async function removeCrawl({ _id, idempotencyId }: TrashDocument): Promise<void> {
    if (idempotencyId !== null) await idempotency.deleteOne({ _id: idempotencyId, crawlId: _id });
    await crawls.deleteOne({ _id });
  }

  return {
    async remove(crawl) {
      if (crawl.unsettled === true) await steps.settle(crawl);
      await relay.relayCrawl(crawl, crawl.outbox.length);
      const { _id, organizationId, idempotencyKey } = crawl;
      const idempotencyId = idempotencyKey === null ? null : idempotencyIdOf(organizationId, idempotencyKey);
      await trash.replaceOne({ _id }, { idempotencyId }, { upsert: true });
      await removeCrawl({ _id, idempotencyId });
    },
    async empty(limit) {
      for (;;) {
        const entry = await trash.findOne({});
        if (entry === null) return 0;
        await removeCrawl(entry);
        const { _id: crawl } = entry;
        const removed = (await deleteSome(pages, { crawl }, limit)) || (await deleteSome(findings, { crawl }, limit));
        if (removed > 0) return removed;
        await trash.deleteOne({ _id: crawl });
      }
    },
  };
}
