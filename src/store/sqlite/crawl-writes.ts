import { IDEMPOTENCY_MS } from '#domain/crawl.ts';
import { type EpochMs, siteIdOf } from '#domain/ids.ts';
import { CANCELLED_ERROR } from '#domain/lease.ts';
import { monthOf, resetsAt } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { allowanceOf, retryAfterMs, type StartRing, take } from '#domain/start-ring.ts';
import type { CrawlStore, NewCrawl } from '../crawl-store.ts';
import { createCrawlReads, readRing } from './crawl-reads.ts';
import { type CrawlRow, RUN, SNAPSHOT, type SnapshotRow, snapshotOf } from './crawl-rows.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { Sql, Sync } from './sql.ts';

export type CrawlWrites = Sync<CrawlStore, 'createCrawl' | 'cancelCrawl' | 'deleteCrawl'>;

export function createCrawlWrites(sql: Sql, now: () => EpochMs, steps: CrawlSteps, quota: QuotaWrites): CrawlWrites {
  const { getCrawl } = createCrawlReads(sql, now);

  /** What an earlier call with the same idempotency key made; a key whose crawl was removed, or that is too old, is free again. */
  function repeated({ organizationId, idempotency }: NewCrawl, at: EpochMs): Snapshot | 'mismatch' | null {
    if (idempotency === null) return null;
    const record = sql.get<SnapshotRow & { request_hash: string }>(
      `select ${SNAPSHOT}, request_hash from idempotency cross join crawls using (organization_id)
       where organization_id = ? and key = ? and created_at > ? and crawls.id = crawl_id`,
      organizationId,
      idempotency.key,
      at - IDEMPOTENCY_MS,
    );
    if (record === undefined) return null;
    return record.request_hash === idempotency.requestHash ? snapshotOf(record) : 'mismatch';
  }

  function insert(crawl: NewCrawl, ring: StartRing, at: EpochMs): Snapshot {
    const { id, organizationId, keyId, url, host, authority, maxUrls, maxDepth, idempotency } = crawl;
    sql.run('insert or replace into start_rings (key_id, next, slots) values (?, ?, ?)', keyId, ring.next, JSON.stringify(ring.slots));
    const siteId = siteIdOf(organizationId, authority);
    sql.run(
      `insert into sites (id, organization_id, host, authority, first_crawled_at, last_crawled_at) values (?, ?, ?, ?, ?5, ?5)
       on conflict (id) do update set last_crawled_at = max(last_crawled_at, excluded.last_crawled_at)`,
      siteId,
      organizationId,
      host,
      authority,
      at,
    );
    const row = sql.get<SnapshotRow>(
      `insert into crawls (id, organization_id, site_id, url, host, authority, state, phase, max_urls, max_depth, started_at, changed_at, version)
       values (?, ?, ?, ?, ?, ?, 'running', 'queued', ?, ?, ?9, ?9, 1) returning ${SNAPSHOT}`,
      id,
      organizationId,
      siteId,
      url,
      host,
      authority,
      maxUrls,
      maxDepth,
      at,
    );
    if (row === undefined) throw new Error(`The crawl ${id} was written and is not there.`);
    if (idempotency !== null)
      sql.run(
        'insert or replace into idempotency (organization_id, key, request_hash, crawl_id, created_at) values (?, ?, ?, ?, ?)',
        organizationId,
        idempotency.key,
        idempotency.requestHash,
        id,
        at,
      );
    const snapshot = snapshotOf(row);
    steps.push('crawl.started', snapshot, at);
    return snapshot;
  }

  return {
    createCrawl(crawl) {
      const at = now();
      const { organizationId, keyId } = crawl;
      const limit = quota.limitOf(organizationId);
      if (limit === null) return { kind: 'no_organization' };
      const ring = readRing(sql, keyId);
      const starts = allowanceOf(ring, at);
      const earlier = repeated(crawl, at) ?? getCrawl(organizationId, crawl.id);
      if (earlier === 'mismatch') return { kind: 'mismatch', starts };
      if (earlier !== null) return { kind: 'replayed', snapshot: earlier, starts };
      const month = monthOf(at);
      if (quota.usedIn(organizationId, month) >= limit) return { kind: 'quota_exceeded', resetsAt: resetsAt(month), starts };
      const wait = retryAfterMs(ring, at);
      if (wait > 0) return { kind: 'rate_limited', retryAfterMs: wait, starts };
      const taken = take(ring, at);
      return { kind: 'created', snapshot: insert(crawl, taken, at), starts: allowanceOf(taken, at) };
    },
    cancelCrawl(organizationId, id) {
      const text = `select ${SNAPSHOT}, ${RUN} from crawls where id = ? and organization_id = ?`;
      const crawl = sql.get<CrawlRow>(text, id, organizationId);
      if (crawl === undefined) return null;
      if (crawl.state !== 'running') return 'final';
      // What was fetched is analysed all the same, so only a crawl with nothing to analyse can end without a worker.
      if (crawl.phase === 'queued' && crawl.lease_token === null)
        return steps.end(crawl, now(), { endReason: 'cancelled', error: CANCELLED_ERROR }, null);
      return crawl.cancel_requested === 1 ? snapshotOf(crawl) : steps.change(crawl, now(), 'cancel_requested = 1');
    },
    deleteCrawl(organizationId, id) {
      const crawl = getCrawl(organizationId, id);
      if (crawl === null) return null;
      if (crawl.state === 'running') return 'not_final';
      // Its pages and findings can be read by nobody from now on, and are swept in small steps.
      sql.run('insert into trash (crawl) select n from crawls where id = ?', id);
      sql.run('delete from crawls where id = ?', id);
      return 'deleted';
    },
  };
}
