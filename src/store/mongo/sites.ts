import type { LightCrawl } from './crawl-records.ts';
import type { Database } from './database.ts';
import { ifAbsent } from './retry.ts';

/** Makes the crawl's site, or moves its times to include the crawl's start. Repeatable. */
export async function upsertSite({ sites }: Database, crawl: LightCrawl): Promise<void> {
  const { siteId, organizationId, host, authority, startedAt } = crawl;
  const upsert = () =>
    sites.updateOne(
      { _id: siteId },
      { $setOnInsert: { organizationId, host, authority }, $min: { firstCrawledAt: startedAt }, $max: { lastCrawledAt: startedAt } },
      { upsert: true },
    );
  // Two first crawls may insert at once; the second one then finds the record.
  if (!(await ifAbsent(upsert))) await upsert();
}
