import { type Counters, countersOf, MAX_BATCH_PAGES, type PageBatch } from '#domain/batch.ts';
import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { RunStore } from '../run-store.ts';
import { LIGHT, snapshotOf } from './crawl-records.ts';
import { type CrawlSteps, heldBy, outboxEntry } from './crawl-steps.ts';
import { type Database, findLatest } from './database.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';
import { ifAbsent, untilWon, writeAll } from './retry.ts';

export type RunWrites = Pick<RunStore, 'commitPages' | 'grantQuota' | 'beginAnalysis' | 'addFindings' | 'finish' | 'putRobots'>;

/** Throws a `RangeError` when `batch` cannot be one. Answers what it adds to the counters. */
function checkBatch(batch: PageBatch): Counters {
  const pages = batch.discovered.length + batch.results.length;
  if (pages > MAX_BATCH_PAGES) throw new RangeError(`A batch of ${pages} pages is more than ${MAX_BATCH_PAGES}.`);
  const counters = countersOf(batch);
  const charged = Object.values(batch.charges).reduce((sum, count) => sum + count, 0);
  if (charged !== counters.fetched) throw new RangeError(`A batch of ${counters.fetched} fetched pages charges ${charged}.`);
  return counters;
}

const under = (path: string, counts: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${path}.${name}`, count]));

export function createRunWrites(database: Database, steps: CrawlSteps, quota: QuotaWrites, pages: PageWrites): RunWrites {
  const { crawls, findings, robots } = database;

  /** What a batch that does not follow is: one that is committed already, or nobody's. */
  async function committedBefore(crawlId: CrawlId, token: LeaseToken, batch: PageBatch): Promise<Snapshot | 'lost'> {
    const crawl = await findLatest(crawls, heldBy(crawlId, token));
    if (crawl === null) return 'lost';
    if (crawl.batch === batch.number && crawl.pending?.token === token) {
      await pages.apply(crawlId, crawl.pending);
      return snapshotOf(crawl);
    }
    if (crawl.phase === 'analyzing') throw new RangeError(`The fetching of the crawl ${crawlId} has ended.`);
    throw new RangeError(`Batch ${batch.number} does not follow batch ${crawl.batch}.`);
  }

  return {
    async commitPages(crawlId, token, batch) {
      const counters = checkBatch(batch);
      const { discovered, results } = batch;
      const pending = { token, discovered, results };
      const committed = await crawls.findOneAndUpdate(
        { ...heldBy(crawlId, token), batch: batch.number - 1, phase: { $in: ['queued', 'fetching'] } },
        {
          $set: {
            batch: batch.number,
            pending,
            phase: 'fetching',
            ...(results.length > 0 && { losses: 0 }),
            ...(batch.frontierTruncated && { frontierTruncated: true }),
          },
          $inc: { version: 1, ...under('counters', counters), ...under('charged', batch.charges) },
          $currentDate: { changedAt: true },
        },
        { returnDocument: 'after', projection: LIGHT },
      );
      if (committed === null) return committedBefore(crawlId, token, batch);
      await pages.apply(crawlId, pending);
      return snapshotOf(committed);
    },
    async grantQuota(crawlId, token, month, wanted) {
      const crawl = await steps.leased(crawlId, token);
      if (crawl === null) return 'lost';
      // The end of the crawl closes the holds of these months.
      const note = async (): Promise<boolean> =>
        (await crawls.updateOne(heldBy(crawlId, token), { $addToSet: { months: month } })).matchedCount === 1;
      return (await quota.grant(crawl, month, wanted, note)) ?? 'lost';
    },
    beginAnalysis: (crawlId, token, ending) =>
      untilWon(async () => {
        const crawl = await steps.leased(crawlId, token);
        if (crawl === null) return 'lost';
        if (crawl.phase === 'analyzing') return snapshotOf(crawl);
        const snapshot = { ...snapshotOf(crawl), phase: 'analyzing', version: crawl.version + 1 } as const;
        const begun = await crawls.updateOne(
          { ...heldBy(crawlId, token), version: crawl.version },
          {
            $set: { phase: 'analyzing', ending },
            $inc: { version: 1 },
            $push: { outbox: outboxEntry('crawl.analyzing', snapshot) },
            $currentDate: { analyzingAt: true, changedAt: true },
          },
        );
        return begun.matchedCount === 1 ? snapshot : undefined;
      }),
    async addFindings(crawlId, token, added) {
      if ((await steps.leased(crawlId, token)) === null) return 'lost';
      await writeAll(
        findings,
        added.map(({ ordinal, ...finding }) => ({
          updateOne: { filter: { crawl: crawlId, run: token, ordinal }, update: { $set: finding }, upsert: true },
        })),
      );
      return 'stored';
    },
    finish: (crawlId, token, ending, findingsCount) =>
      untilWon(async () => {
        const crawl = await crawls.findOne(heldBy(crawlId, token));
        return crawl === null ? 'lost' : ((await steps.end(crawl, {}, ending, findingsCount)) ?? undefined);
      }),
    async putRobots(origin, { status, body, error, fetchedAt, expiresAt }) {
      const stored = { status, body, error, fetchedAt: new Date(fetchedAt), expiresAt: new Date(expiresAt) };
      const put = () => robots.updateOne({ _id: origin }, { $set: stored }, { upsert: true });
      if (!(await ifAbsent(put))) await put();
    },
  };
}
