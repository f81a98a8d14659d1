import type { SQLInputValue } from 'node:sqlite';
import type { Scope } from '#domain/account.ts';
import type { Ending } from '#domain/crawl.ts';
import type { EventType } from '#domain/event.ts';
import type { CrawlId, EpochMs, KeyId, OrganizationId, SiteId } from '#domain/ids.ts';
import type { Hold } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { CopiedHold, Copies, CopyKind, CopyOwner } from '../copy-store.ts';
import { SNAPSHOT, type SnapshotRow, snapshotOf } from './crawl-rows.ts';
import { FINDING, type FindingRow, findingOf, type LinkedPageRow, linkedPageOf, PAGE } from './page-rows.ts';
import type { Row, Sql } from './sql.ts';

/** How records of one kind are read. */
export type CopyTable<Kind extends CopyKind> = {
  readonly columns: string;
  /** `from … where …`, as far as the owner; its values are those of `ownerOf`. */
  readonly source: string;
  readonly ownerOf: (owner: CopyOwner<Kind>) => SQLInputValue[];
  /** `from … where …` with the keys as a JSON array, for records that may be there before what tells whose they are. */
  readonly found?: string;
  /** The column that the record's key is in. */
  readonly key: string;
  /** The columns of the order, and a record's place in it; null: before the first. */
  readonly order: string;
  readonly placeOf: (record: Copies[Kind] | null) => SQLInputValue[];
  readonly of: (row: Row) => Copies[Kind];
  /** `from … where …` with the organization's id as its value: what is counted of all its crawls. */
  readonly counted: string;
};

export type CopyTables = { readonly [Kind in CopyKind]: CopyTable<Kind> };

/** The small key of a crawl that is stored, or something of it. */
export const numberOf = (sql: Sql, { organizationId, crawlId }: CopyOwner<'page'>): number | undefined =>
  sql.get<{ n: number }>(
    'select n from crawls where id = ?1 union all select n from incoming where organization_id = ?2 and crawl_id = ?1',
    crawlId,
    organizationId,
  )?.n;

const NO_CRAWL = 0;

type OrganizationRow = Row & { id: OrganizationId; name: string; monthly_url_quota: number; created_at: number; last_event_seq: number };
type SiteRow = Row & { id: SiteId; organization_id: OrganizationId; host: string; authority: string };
type CrawlRow = SnapshotRow & { changed_at: number; losses: number; batch: number; ending: string | null };
type IdempotencyRow = Row & { key: string; request_hash: string; crawl_id: CrawlId; created_at: number };
type EventRow = Row & { organization_id: OrganizationId; seq: number; key: string; type: EventType; crawl_id: CrawlId; at: number };
type KeyRow = Row & { id: KeyId; organization_id: OrganizationId; name: string; secret_hash: string; prefix: string; scopes: string };

const ofOrganization = ({ organizationId }: { readonly organizationId: OrganizationId }): SQLInputValue[] => [organizationId];

export function createCopyTables(sql: Sql): CopyTables {
  const holdsOf = (n: number): Hold[] =>
    sql.all<Hold>('select month, granted, used from holds where crawl = ? and closed_at is null order by month', n);
  const heldIn = (organizationId: string, month: string): CopiedHold[] =>
    sql.all<CopiedHold & Row>(
      `select id as crawlId, granted, used from crawls indexed by crawls_by_state cross join holds on crawl = n and month = ?1
       where organization_id = ?2 and state = 'running' and closed_at is null
       union all
       select crawl_id, granted, used from incoming cross join holds on crawl = n and month = ?1 where organization_id = ?2`,
      month,
      organizationId,
    );

  return {
    organization: {
      columns: 'id, name, monthly_url_quota, created_at, last_event_seq',
      source: 'from organizations where id = ?',
      ownerOf: ofOrganization,
      key: 'id',
      order: 'id',
      placeOf: (record) => [record?.id ?? ''],
      of(row) {
        const { id, name, monthly_url_quota, created_at, last_event_seq } = row as OrganizationRow;
        return { id, name, monthlyUrlQuota: monthly_url_quota, createdAt: created_at, lastEventSeq: last_event_seq };
      },
      counted: 'from organizations where id = ?',
    },
    usage: {
      columns: 'organization_id, month, used',
      source: 'from usage where organization_id = ?',
      ownerOf: ofOrganization,
      key: 'month',
      order: 'month',
      placeOf: (record) => [record?.month ?? ''],
      of(row) {
        const { organization_id, month, used } = row as { organization_id: string; month: string; used: number };
        const holds = heldIn(organization_id, month).sort((a, b) => (a.crawlId < b.crawlId ? -1 : 1));
        return { month, used, holds };
      },
      counted: 'from usage where organization_id = ?',
    },
    site: {
      columns: 'id, organization_id, host, authority, first_crawled_at, last_crawled_at',
      source: 'from sites where organization_id = ?',
      ownerOf: ofOrganization,
      key: 'authority',
      order: 'authority',
      placeOf: (record) => [record?.authority ?? ''],
      of(row) {
        const { id, organization_id, host, authority } = row as SiteRow;
        const times = { firstCrawledAt: Number(row.first_crawled_at), lastCrawledAt: Number(row.last_crawled_at) };
        return { id, organizationId: organization_id, host, authority, ...times };
      },
      counted: 'from sites where organization_id = ?',
    },
    page: {
      columns: `${PAGE}, links, other_links`,
      source: 'from pages where crawl = ?',
      ownerOf: (owner) => [numberOf(sql, owner) ?? NO_CRAWL],
      key: 'seq',
      order: 'seq',
      placeOf: (record) => [record?.seq ?? -1],
      of: (row) => linkedPageOf(row as LinkedPageRow),
      counted: 'from crawls cross join pages on crawl = n where organization_id = ?',
    },
    finding: {
      columns: FINDING,
      source: 'from findings where crawl = ? and run = ?',
      ownerOf(owner) {
        const crawl = sql.get<{ n: number; run: number; state: string }>('select n, run, state from crawls where id = ?', owner.crawlId);
        if (crawl === undefined) return [numberOf(sql, owner) ?? NO_CRAWL, 0];
        return crawl.state === 'running' ? [NO_CRAWL, 0] : [crawl.n, crawl.run];
      },
      key: 'ordinal',
      order: 'ordinal',
      placeOf: (record) => [record?.ordinal ?? -1],
      of: (row) => findingOf(row as FindingRow),
      counted: `from crawls cross join findings on findings.crawl = n and findings.run = crawls.run
        where organization_id = ? and state <> 'running'`,
    },
    crawl: {
      columns: `${SNAPSHOT}, changed_at, losses, batch, ending`,
      source: 'from crawls where organization_id = ?',
      ownerOf: ofOrganization,
      key: 'id',
      order: 'started_at, id',
      placeOf: (record) => (record === null ? [-1, ''] : [record.startedAt, record.id]),
      of(row) {
        const crawl = row as CrawlRow;
        const { n, changed_at: changedAt, losses, batch, ending } = crawl;
        return {
          ...snapshotOf(crawl),
          changedAt,
          losses,
          batch,
          ending: ending === null ? null : (JSON.parse(ending) as Ending),
          holds: holdsOf(n),
        };
      },
      counted: 'from crawls where organization_id = ?',
    },
    idempotency: {
      columns: 'key, request_hash, crawl_id, created_at',
      source: 'from idempotency where organization_id = ? and exists (select 1 from crawls where crawls.id = crawl_id)',
      ownerOf: ofOrganization,
      key: 'key',
      order: 'key',
      placeOf: (record) => [record?.key ?? ''],
      of(row) {
        const { key, request_hash, crawl_id, created_at } = row as IdempotencyRow;
        return { key, requestHash: request_hash, crawlId: crawl_id, createdAt: created_at };
      },
      counted: 'from idempotency where organization_id = ? and exists (select 1 from crawls where crawls.id = crawl_id)',
    },
    event: {
      columns: 'organization_id, seq, key, type, crawl_id, at, snapshot',
      source: 'from events where organization_id = ?',
      ownerOf: ofOrganization,
      key: 'seq',
      order: 'seq',
      placeOf: (record) => [record?.seq ?? -1],
      of(row) {
        const { organization_id, seq, key, type, crawl_id, at } = row as EventRow;
        const snapshot = JSON.parse(String(row.snapshot)) as Snapshot;
        return { organizationId: organization_id, seq, key, type, crawlId: crawl_id, at, snapshot };
      },
      counted: 'from events where organization_id = ?',
    },
    // Few of an organization: found by it, and put in order by the key.
    startRing: {
      columns: 'key_id, next, slots',
      source: 'from api_keys cross join start_rings on key_id = id where +organization_id = ?',
      found: 'from start_rings where key_id in (select value from json_each(?))',
      ownerOf: ofOrganization,
      key: 'id',
      order: 'id',
      placeOf: (record) => [record?.keyId ?? ''],
      of(row) {
        const { key_id, next, slots } = row as { key_id: KeyId; next: number; slots: string };
        return { keyId: key_id, next, slots: JSON.parse(slots) as EpochMs[] };
      },
      counted: 'from api_keys cross join start_rings on key_id = id where organization_id = ?',
    },
    key: {
      columns: 'id, organization_id, name, secret_hash, prefix, scopes, created_at, revoked_at',
      source: 'from api_keys where +organization_id = ?',
      ownerOf: ofOrganization,
      key: 'id',
      order: 'id',
      placeOf: (record) => [record?.id ?? ''],
      of(row) {
        const { id, organization_id, name, secret_hash, prefix, scopes } = row as KeyRow;
        const times = { createdAt: Number(row.created_at), revokedAt: row.revoked_at === null ? null : Number(row.revoked_at) };
        return {
          id,
          organizationId: organization_id,
          name,
          secretHash: secret_hash,
          prefix,
          scopes: JSON.parse(scopes) as Scope[],
          ...times,
        };
      },
      counted: 'from api_keys where organization_id = ?',
    },
  };
}
