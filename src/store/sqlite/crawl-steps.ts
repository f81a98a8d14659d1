import type { SQLInputValue } from 'node:sqlite';
import { type Ending, stateOf } from '#domain/crawl.ts';
import { type EventType, eventKeyOf } from '#domain/event.ts';
import type { CrawlId, EpochMs, LeaseToken } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { type CrawlRow, RUN, SNAPSHOT, type SnapshotRow, snapshotOf } from './crawl-rows.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { Sql } from './sql.ts';

/** The steps that every change of a crawl is made of. */
export type CrawlSteps = {
  /** The crawl, while `token` holds its lease and it runs. */
  leased(id: CrawlId, token: LeaseToken): CrawlRow | null;
  /** Applies `assignments` as a change that readers see: version and changedAt move with it. */
  change(crawl: SnapshotRow, at: EpochMs, assignments: string, ...values: SQLInputValue[]): Snapshot;
  /** Writes an event into the outbox, in the same transaction as what it tells. */
  push(type: EventType, snapshot: Snapshot, at: EpochMs): void;
  /** Ends the crawl: quota back, lease away, event pushed. Findings of its current run stay if they were counted, all others go. */
  end(crawl: CrawlRow, at: EpochMs, ending: Ending, findingsCount: number | null): Snapshot;
};

export function createCrawlSteps(sql: Sql, quota: QuotaWrites): CrawlSteps {
  const change: CrawlSteps['change'] = (crawl, at, assignments, ...values) => {
    const text = `update crawls set ${assignments}, version = version + 1, changed_at = ? where n = ? returning ${SNAPSHOT}`;
    const row = sql.get<SnapshotRow>(text, ...values, at, crawl.n);
    if (row === undefined) throw new Error(`The crawl ${crawl.id} was read and is not there.`);
    return snapshotOf(row);
  };
  const push: CrawlSteps['push'] = (type, snapshot, at) => {
    sql.run(
      'insert into outbox (organization_id, key, type, crawl_id, at, snapshot) values (?, ?, ?, ?, ?, ?)',
      snapshot.organizationId,
      eventKeyOf(snapshot.id, type),
      type,
      snapshot.id,
      at,
      JSON.stringify(snapshot),
    );
  };
  return {
    leased(id, token) {
      const text = `select ${SNAPSHOT}, ${RUN} from crawls where id = ? and lease_token = ? and state = 'running'`;
      return sql.get<CrawlRow>(text, id, token) ?? null;
    },
    change,
    push,
    end(crawl, at, { endReason, error }, findingsCount) {
      quota.settle(crawl, at);
      if (findingsCount === null) sql.run('delete from findings where crawl = ?', crawl.n);
      else sql.run('delete from findings where crawl = ? and run < ?', crawl.n, crawl.run);
      const state = stateOf(endReason);
      const snapshot = change(
        crawl,
        at,
        `state = ?, phase = 'finished', end_reason = ?, error = ?, findings_count = ?, finished_at = ?, cancel_requested = 0,
         lease_token = null, lease_expires_at = null, ending = null`,
        state,
        endReason,
        error,
        findingsCount,
        at,
      );
      push(`crawl.${state}`, snapshot, at);
      return snapshot;
    },
  };
}
