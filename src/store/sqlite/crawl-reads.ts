import type { CrawlId, EpochMs, OrganizationId, SiteId } from '#domain/ids.ts';
import { freeOf, monthOf, resetsAt } from '#domain/quota.ts';
import { allowanceOf, emptyRing, type StartRing } from '#domain/start-ring.ts';
import type { CrawlStore, SiteRecord } from '../crawl-store.ts';
import { SNAPSHOT, type SnapshotRow, snapshotOf } from './crawl-rows.ts';
import { FINDING, type FindingRow, findingOf, PAGE, type PageRow, pageOf } from './page-rows.ts';
import type { Sql, Sync } from './sql.ts';

type SiteRow = {
  id: SiteId;
  organization_id: OrganizationId;
  host: string;
  authority: string;
  first_crawled_at: number;
  last_crawled_at: number;
};

const SITE = 'id, organization_id, host, authority, first_crawled_at, last_crawled_at';

const siteOf = (row: SiteRow): SiteRecord => ({
  id: row.id,
  organizationId: row.organization_id,
  host: row.host,
  authority: row.authority,
  firstCrawledAt: row.first_crawled_at,
  lastCrawledAt: row.last_crawled_at,
});

/** The ring of a key; empty when it has started nothing. */
export function readRing(sql: Sql, keyId: string): StartRing {
  const row = sql.get<{ next: number; slots: string }>('select next, slots from start_rings where key_id = ?', keyId);
  return row === undefined ? emptyRing() : { next: row.next, slots: JSON.parse(row.slots) as EpochMs[] };
}

/** Made once: the most frequent statement of all is found by its text. */
const CRAWL = `select ${SNAPSHOT} from crawls where id = ? and organization_id = ?`;

const VERSIONS = `select crawls.id, version from json_each(?) join crawls
  on crawls.id = json_each.value ->> 0 and +organization_id = json_each.value ->> 1`;

export type CrawlReads = Sync<
  CrawlStore,
  | 'getStartAllowance'
  | 'getCrawl'
  | 'getSnapshots'
  | 'getVersions'
  | 'listChanged'
  | 'getSites'
  | 'listSites'
  | 'listPages'
  | 'listFindings'
  | 'getUsage'
>;

export function createCrawlReads(sql: Sql, now: () => EpochMs): CrawlReads {
  const find = (organizationId: string, id: string) =>
    sql.get<{ n: number; state: string; run: number }>(
      'select n, state, run from crawls where id = ? and organization_id = ?',
      id,
      organizationId,
    );
  return {
    getStartAllowance: (keyId) => allowanceOf(readRing(sql, keyId), now()),
    getCrawl(organizationId, id) {
      const row = sql.get<SnapshotRow>(CRAWL, id, organizationId);
      return row === undefined ? null : snapshotOf(row);
    },
    getSnapshots: (ids) =>
      sql
        .all<SnapshotRow>(`select ${SNAPSHOT} from crawls where id in (select value from json_each(?))`, JSON.stringify(ids))
        .map(snapshotOf),
    getVersions(owned) {
      const rows = sql.all<{ id: CrawlId; version: number }>(
        VERSIONS,
        JSON.stringify(owned.map(({ id, organizationId }) => [id, organizationId])),
      );
      return new Map(rows.map(({ id, version }) => [id, version]));
    },
    listChanged(organizationId, since, limit) {
      const readAt = now();
      const text = `select ${SNAPSHOT} from crawls where organization_id = ? and changed_at >= ? order by changed_at, n limit ?`;
      return { snapshots: sql.all<SnapshotRow>(text, organizationId, since, limit).map(snapshotOf), readAt };
    },
    getSites: (organizationId, ids) =>
      sql
        .all<SiteRow>(
          `select ${SITE} from sites where id in (select value from json_each(?)) and +organization_id = ?`,
          JSON.stringify(ids),
          organizationId,
        )
        .map(siteOf),
    listSites: ({ organizationId, after, limit }) =>
      sql
        .all<SiteRow>(
          `select ${SITE} from sites where organization_id = ? and authority > ? order by authority limit ?`,
          organizationId,
          after ?? '',
          limit,
        )
        .map(siteOf),
    listPages(organizationId, crawlId, { status, afterSeq = -1, limit }) {
      const crawl = find(organizationId, crawlId);
      if (crawl === undefined) return null;
      const rows =
        status === undefined
          ? sql.all<PageRow>(`select ${PAGE} from pages where crawl = ? and seq > ? order by seq limit ?`, crawl.n, afterSeq, limit)
          : sql.all<PageRow>(
              `select ${PAGE} from pages where crawl = ? and status = ? and seq > ? order by seq limit ?`,
              crawl.n,
              status,
              afterSeq,
              limit,
            );
      return rows.map(pageOf);
    },
    listFindings(organizationId, crawlId, { severity, rule, afterOrdinal = -1, limit }) {
      const crawl = find(organizationId, crawlId);
      if (crawl === undefined) return null;
      if (crawl.state === 'running') return [];
      const filters = [...(severity === undefined ? [] : [severity]), ...(rule === undefined ? [] : [rule])];
      // A rule has few severities, so that its index serves both filters.
      const matching = `${severity === undefined ? '' : `and ${rule === undefined ? '' : '+'}severity = ?`} ${rule === undefined ? '' : 'and rule = ?'}`;
      const text = `select ${FINDING} from findings where crawl = ? and run = ? ${matching} and ordinal > ? order by ordinal limit ?`;
      return sql.all<FindingRow>(text, crawl.n, crawl.run, ...filters, afterOrdinal, limit).map(findingOf);
    },
    getUsage(organizationId) {
      const month = monthOf(now());
      const row = sql.get<{ monthly_url_quota: number; used: number | null; reserved: number | null }>(
        `select monthly_url_quota, used, reserved from organizations
         left join usage on usage.organization_id = organizations.id and month = ? where organizations.id = ? and removed_at is null`,
        month,
        organizationId,
      );
      if (row === undefined) return null;
      const usage = { limit: row.monthly_url_quota, used: row.used ?? 0, reserved: row.reserved ?? 0 };
      return { month, ...usage, remaining: freeOf(usage), resetsAt: resetsAt(month) };
    },
  };
}
