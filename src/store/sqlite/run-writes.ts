import { countersOf, MAX_BATCH_PAGES, type PageBatch } from '#domain/batch.ts';
import type { EpochMs } from '#domain/ids.ts';
import type { RunStore } from '../run-store.ts';
import { type CrawlRow, snapshotOf } from './crawl-rows.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { Sql, Sync } from './sql.ts';

export type RunWrites = Sync<RunStore, 'commitPages' | 'grantQuota' | 'beginAnalysis' | 'addFindings' | 'finish' | 'putRobots'>;

/** Throws a `RangeError` when `batch` cannot be the crawl's next one. */
function checkBatch(crawl: CrawlRow, batch: PageBatch): void {
  if (batch.number !== crawl.batch + 1) throw new RangeError(`Batch ${batch.number} does not follow batch ${crawl.batch}.`);
  const pages = batch.discovered.length + batch.results.length;
  if (pages > MAX_BATCH_PAGES) throw new RangeError(`A batch of ${pages} pages is more than ${MAX_BATCH_PAGES}.`);
  const charged = Object.values(batch.charges).reduce((sum, count) => sum + count, 0);
  const { fetched } = countersOf(batch);
  if (charged !== fetched) throw new RangeError(`A batch of ${fetched} fetched pages charges ${charged}.`);
  if (crawl.phase === 'analyzing') throw new RangeError(`The fetching of the crawl ${crawl.id} has ended.`);
}

export function createRunWrites(sql: Sql, now: () => EpochMs, steps: CrawlSteps, quota: QuotaWrites, pages: PageWrites): RunWrites {
  return {
    commitPages(crawlId, token, batch) {
      const crawl = steps.leased(crawlId, token);
      if (crawl === null) return 'lost';
      if (batch.number === crawl.batch && crawl.batch_token === token) return snapshotOf(crawl);
      checkBatch(crawl, batch);
      for (const page of batch.discovered) pages.discover(crawl.n, page);
      for (const result of batch.results) pages.resolve(crawl.n, result);
      quota.charge(crawl, batch.charges);
      const { discovered, fetched, redirected, failed, blocked } = countersOf(batch);
      return steps.change(
        crawl,
        now(),
        `phase = 'fetching', batch = ?, batch_token = ?, losses = iif(?, 0, losses), frontier_truncated = max(frontier_truncated, ?),
         discovered = discovered + ?, fetched = fetched + ?, redirected = redirected + ?, failed = failed + ?, blocked = blocked + ?`,
        batch.number,
        token,
        Number(batch.results.length > 0),
        Number(batch.frontierTruncated),
        discovered,
        fetched,
        redirected,
        failed,
        blocked,
      );
    },
    grantQuota(crawlId, token, month, wanted) {
      const crawl = steps.leased(crawlId, token);
      return crawl === null ? 'lost' : quota.grant(crawl, month, wanted);
    },
    beginAnalysis(crawlId, token, ending) {
      const crawl = steps.leased(crawlId, token);
      if (crawl === null) return 'lost';
      if (crawl.phase === 'analyzing') return snapshotOf(crawl);
      const at = now();
      const snapshot = steps.change(crawl, at, `phase = 'analyzing', ending = ?`, JSON.stringify(ending));
      steps.push('crawl.analyzing', snapshot, at);
      return snapshot;
    },
    addFindings(crawlId, token, findings) {
      const crawl = steps.leased(crawlId, token);
      if (crawl === null) return 'lost';
      for (const finding of findings) {
        sql.run(
          `insert or replace into findings (crawl, run, ordinal, fingerprint, rule, severity, page_seq, url, evidence)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          crawl.n,
          crawl.run,
          finding.ordinal,
          finding.fingerprint,
          finding.rule,
          finding.severity,
          finding.pageSeq,
          finding.url,
          JSON.stringify(finding.evidence),
        );
      }
      return 'stored';
    },
    finish(crawlId, token, ending, findingsCount) {
      const crawl = steps.leased(crawlId, token);
      return crawl === null ? 'lost' : steps.end(crawl, now(), ending, findingsCount);
    },
    putRobots(origin, { status, body, error, fetchedAt, expiresAt }) {
      sql.run(
        'insert or replace into robots (origin, status, body, error, fetched_at, expires_at) values (?, ?, ?, ?, ?, ?)',
        origin,
        status,
        body,
        error,
        fetchedAt,
        expiresAt,
      );
    },
  };
}
