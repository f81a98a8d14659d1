import type { Hold } from '#domain/quota.ts';
import type { Copies, CopyKind, CopyOwner } from '../copy-store.ts';
import { numberOf } from './copy-tables.ts';
import { packLinks } from './page-rows.ts';
import { urlHash } from './page-writes.ts';
import type { Sql } from './sql.ts';

export type CopyWrites = {
  insertCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): number;
};

/** Stores one record unless it is there, or what is unique of it; answers how many rows that made, 1 or 0. */
type Insert<Kind extends CopyKind> = (record: Copies[Kind], owner: CopyOwner<Kind>) => number;
type Inserts = { readonly [Kind in CopyKind]: Insert<Kind> };

const json = (value: unknown): string => JSON.stringify(value);

export function createCopyWrites(sql: Sql): CopyWrites {
  /** A number that no crawl has had or will get, but the one that it is given. */
  function newNumber(): number {
    sql.run(
      `insert into sqlite_sequence (name, seq) select 'crawls', 0 where not exists (select 1 from sqlite_sequence where name = 'crawls')`,
    );
    const row = sql.get<{ seq: number }>(`update sqlite_sequence set seq = seq + 1 where name = 'crawls' returning seq`);
    if (row === undefined) throw new Error('The numbers of crawls are gone.');
    return row.seq;
  }
  /** The number under which what belongs to a crawl is kept, also before the crawl is. */
  function expected(owner: CopyOwner<'page'>): number {
    const known = numberOf(sql, owner);
    if (known !== undefined) return known;
    const n = newNumber();
    sql.run('insert into incoming (organization_id, crawl_id, n) values (?, ?, ?)', owner.organizationId, owner.crawlId, n);
    return n;
  }

  // A hold comes with its month, and again with its crawl.
  const insertHold = (n: number, { month, granted, used }: Hold): number =>
    sql.run('insert into holds (crawl, month, granted, used) values (?, ?, ?, ?) on conflict do nothing', n, month, granted, used);

  const insertCrawl: Insert<'crawl'> = (crawl) => {
    if (sql.get('select 1 from crawls where id = ?', crawl.id) !== undefined) return 0;
    const { id: crawlId, organizationId } = crawl;
    const n = expected({ organizationId, crawlId });
    const { counters, ending, holds } = crawl;
    sql.run(
      `insert into crawls (n, id, organization_id, site_id, url, host, authority, state, phase, end_reason, error, max_urls, max_depth,
         discovered, fetched, redirected, failed, blocked, frontier_truncated, findings_count, cancel_requested, started_at, finished_at,
         version, changed_at, losses, batch, ending)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      n,
      crawl.id,
      crawl.organizationId,
      crawl.siteId,
      crawl.url,
      crawl.host,
      crawl.authority,
      crawl.state,
      crawl.phase,
      crawl.endReason,
      crawl.error,
      crawl.maxUrls,
      crawl.maxDepth,
      counters.discovered,
      counters.fetched,
      counters.redirected,
      counters.failed,
      counters.blocked,
      Number(crawl.frontierTruncated),
      crawl.findingsCount,
      Number(crawl.cancelRequested),
      crawl.startedAt,
      crawl.finishedAt,
      crawl.version,
      crawl.changedAt,
      crawl.losses,
      crawl.batch,
      ending === null ? null : json(ending),
    );
    for (const hold of holds) insertHold(n, hold);
    sql.run('delete from incoming where organization_id = ? and crawl_id = ?', organizationId, crawlId);
    return 1;
  };

  const insertPage: Insert<'page'> = (page, owner) =>
    sql.run(
      `insert into pages (crawl, seq, url, url_hash, depth, status, redirects, found_on, reason, http_status, content_type, redirect_url,
         fetched_at, duration_ms, bytes, truncated, links_truncated, facts, links, other_links)
       select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20
       where not exists (select 1 from pages indexed by pages_by_url where crawl = ?1 and url_hash = ?4 and url = ?3)
       on conflict (crawl, seq) do nothing`,
      expected(owner),
      page.seq,
      page.url,
      urlHash(page.url),
      page.depth,
      page.status,
      page.redirects,
      page.foundOn,
      page.reason,
      page.httpStatus,
      page.contentType,
      page.redirectUrl,
      page.fetchedAt,
      page.durationMs,
      page.bytes,
      Number(page.truncated),
      Number(page.linksTruncated),
      page.facts === null ? null : json(page.facts),
      packLinks(page.links),
      page.otherLinks.length === 0 ? null : json(page.otherLinks),
    );

  const inserts: Inserts = {
    organization: ({ id, name, monthlyUrlQuota, createdAt, lastEventSeq }) =>
      sql.run(
        `insert into organizations (id, name, monthly_url_quota, created_at, last_event_seq) values (?, ?, ?, ?, ?)
         on conflict do nothing`,
        id,
        name,
        monthlyUrlQuota,
        createdAt,
        lastEventSeq,
      ),
    usage({ month, used, holds }, { organizationId }) {
      const reserved = holds.reduce((sum, hold) => sum + hold.granted - hold.used, 0);
      const text = 'insert into usage (organization_id, month, used, reserved) values (?, ?, ?, ?) on conflict do nothing';
      const stored = sql.run(text, organizationId, month, used, reserved);
      if (stored === 1) for (const { crawlId, ...hold } of holds) insertHold(expected({ organizationId, crawlId }), { month, ...hold });
      return stored;
    },
    site: ({ id, organizationId, host, authority, firstCrawledAt, lastCrawledAt }) =>
      sql.run(
        `insert into sites (id, organization_id, host, authority, first_crawled_at, last_crawled_at) values (?, ?, ?, ?, ?, ?)
         on conflict do nothing`,
        id,
        organizationId,
        host,
        authority,
        firstCrawledAt,
        lastCrawledAt,
      ),
    page: insertPage,
    finding: ({ ordinal, fingerprint, rule, severity, pageSeq, url, evidence }, owner) =>
      // A crawl that is copied in has had no run here: its findings are those of run 0.
      sql.run(
        `insert into findings (crawl, run, ordinal, fingerprint, rule, severity, page_seq, url, evidence)
         values (?, 0, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
        expected(owner),
        ordinal,
        fingerprint,
        rule,
        severity,
        pageSeq,
        url,
        json(evidence),
      ),
    crawl: insertCrawl,
    idempotency: ({ key, requestHash, crawlId, createdAt }, { organizationId }) =>
      sql.run(
        `insert into idempotency (organization_id, key, request_hash, crawl_id, created_at) values (?, ?, ?, ?, ?)
         on conflict do nothing`,
        organizationId,
        key,
        requestHash,
        crawlId,
        createdAt,
      ),
    event: ({ organizationId, seq, key, type, crawlId, at, snapshot }) =>
      sql.run(
        `insert into events (organization_id, seq, key, type, crawl_id, at, snapshot) values (?, ?, ?, ?, ?, ?, ?)
         on conflict do nothing`,
        organizationId,
        seq,
        key,
        type,
        crawlId,
        at,
        json(snapshot),
      ),
    startRing: ({ keyId, next, slots }) =>
      sql.run('insert into start_rings (key_id, next, slots) values (?, ?, ?) on conflict do nothing', keyId, next, json(slots)),
    key: ({ id, organizationId, name, secretHash, prefix, scopes, createdAt, revokedAt }) =>
      sql.run(
        `insert into api_keys (id, organization_id, name, secret_hash, prefix, scopes, created_at, revoked_at)
         values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
        id,
        organizationId,
        name,
        secretHash,
        prefix,
        json(scopes),
        createdAt,
        revokedAt,
      ),
  };

  return {
    insertCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): number {
      const insert: Insert<Kind> = inserts[kind];
      return records.reduce((stored, record) => stored + insert(record, owner), 0);
    },
  };
}
