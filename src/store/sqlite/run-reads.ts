import type { EpochMs } from '#domain/ids.ts';
import type { RunStore, StoredRobots } from '../run-store.ts';
import { LIVING, WAITING } from './crawl-rows.ts';
import { type FrontierRow, type LinkedPageRow, linkedPageOf, PAGE, type PageRow, pageOf } from './page-rows.ts';
import type { Sql, Sync } from './sql.ts';

type RobotsRow = { status: number | null; body: string | null; error: string | null; fetched_at: number; expires_at: number };

const CLAIMABLE = `from crawls indexed by crawls_claimable where state = 'running' and lease_token is null and organization_id = waiting.id`;
const QUEUE = `
  ${WAITING}
  select total(waiting) as waiting, min(since) as since from (
    select (select count(*) ${CLAIMABLE}) as waiting, (select min(started_at) ${CLAIMABLE}) as since from waiting where id is not null and ${LIVING}
  )`;

export type RunReads = Sync<RunStore, 'getQueue' | 'readFrontier' | 'readPages' | 'readPagesBySeq' | 'getRobots'>;

export function createRunReads(sql: Sql, now: () => EpochMs): RunReads {
  const leased = (id: string, token: string): number | undefined =>
    sql.get<{ n: number }>(`select n from crawls where id = ? and lease_token = ? and state = 'running'`, id, token)?.n;
  return {
    getQueue() {
      const row = sql.get<{ waiting: number; since: number | null }>(QUEUE);
      return { waiting: row?.waiting ?? 0, oldestMs: row?.since == null ? 0 : Math.max(0, now() - row.since) };
    },
    readFrontier(crawlId, token, afterSeq, limit) {
      const n = leased(crawlId, token);
      if (n === undefined) return 'lost';
      const text = 'select seq, url, depth, redirects, status from pages where crawl = ? and seq > ? order by seq limit ?';
      return sql.all<FrontierRow>(text, n, afterSeq, limit).map((row) => ({ ...row }));
    },
    readPages(crawlId, token, afterSeq, limit) {
      const n = leased(crawlId, token);
      if (n === undefined) return 'lost';
      const text = `select ${PAGE}, links, other_links from pages where crawl = ? and seq > ? order by seq limit ?`;
      return sql.all<LinkedPageRow>(text, n, afterSeq, limit).map(linkedPageOf);
    },
    readPagesBySeq(crawlId, token, seqs) {
      const n = leased(crawlId, token);
      if (n === undefined) return 'lost';
      const text = `select ${PAGE} from pages where crawl = ? and seq in (select value from json_each(?))`;
      return sql.all<PageRow>(text, n, JSON.stringify(seqs)).map(pageOf);
    },
    getRobots(origin): StoredRobots | null {
      const text = 'select status, body, error, fetched_at, expires_at from robots where origin = ? and expires_at > ?';
      const row = sql.get<RobotsRow>(text, origin, now());
      if (row === undefined) return null;
      return { status: row.status, body: row.body, error: row.error, fetchedAt: row.fetched_at, expiresAt: row.expires_at };
    },
  };
}
