import { hash } from 'node:crypto';
import type { DiscoveredPage, PageResult } from '#domain/page.ts';
import { packLinks } from './page-rows.ts';
import type { Sql } from './sql.ts';

/** Pages of one crawl, named by its inner key. Each throws a `RangeError` for a page that cannot be: the counters would be wrong. */
export type PageWrites = {
  /** A URL or seq is discovered once. */
  discover(crawl: number, page: DiscoveredPage): void;
  /** A result is that of a queued page. */
  resolve(crawl: number, result: PageResult): void;
};

/** 48 bits: they keep the index small. Equal hashes are told apart by the URL itself. */
export const urlHash = (url: string): number => hash('sha1', url, 'buffer').readUIntBE(0, 6);

export function createPageWrites(sql: Sql): PageWrites {
  return {
    discover(crawl, { seq, url, depth, status, redirects, foundOn, reason }) {
      const added = sql.run(
        `insert into pages (crawl, seq, url, url_hash, depth, status, redirects, found_on, reason)
         select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
         where not exists (select 1 from pages indexed by pages_by_url where crawl = ?1 and url_hash = ?4 and url = ?3)
         on conflict (crawl, seq) do nothing`,
        crawl,
        seq,
        url,
        urlHash(url),
        depth,
        status,
        redirects,
        foundOn,
        reason,
      );
      if (added === 0) throw new RangeError(`Page ${seq}, ${url}, was discovered before.`);
    },
    resolve(crawl, result) {
      const changed = sql.run(
        `update pages set status = ?, reason = ?, http_status = ?, content_type = ?, redirect_url = ?, fetched_at = ?, duration_ms = ?,
         bytes = ?, truncated = ?, links_truncated = ?, facts = ?, links = ?, other_links = ?
         where crawl = ? and seq = ? and +status = 'queued'`,
        result.status,
        result.reason,
        result.httpStatus,
        result.contentType,
        result.redirectUrl,
        result.fetchedAt,
        result.durationMs,
        result.bytes,
        Number(result.truncated),
        Number(result.linksTruncated),
        result.facts === null ? null : JSON.stringify(result.facts),
        packLinks(result.links),
        result.otherLinks.length === 0 ? null : JSON.stringify(result.otherLinks),
        crawl,
        result.seq,
      );
      if (changed === 0) throw new RangeError(`Page ${result.seq} is not queued.`);
    },
  };
}
