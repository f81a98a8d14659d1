import type { Ending } from '#domain/crawl.ts';
import type { EpochMs, LeaseToken } from '#domain/ids.ts';
import { MAX_LOSSES, WORKER_LOST_ERROR } from '#domain/lease.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Claim, RunStore } from '../run-store.ts';
import { type CrawlRow, RUN, SNAPSHOT, snapshotOf } from './crawl-rows.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { Sql, Sync } from './sql.ts';
import { NEXT_ORGANIZATION } from './turns.ts';

export type LeaseWrites = Sync<RunStore, 'claim' | 'heartbeat' | 'release' | 'reapLeases'> & {
  /** As `reapLeases`, for every lease there is: a process that has just locked its data knows that their holders are gone. */
  expireLeases(): Snapshot[];
};

const OLDEST = `select ${SNAPSHOT}, ${RUN} from crawls indexed by crawls_claimable
  where state = 'running' and lease_token is null and organization_id = ? order by started_at, id limit 1`;

export function createLeaseWrites(sql: Sql, now: () => EpochMs, steps: CrawlSteps, quota: QuotaWrites): LeaseWrites {
  const leasesOn = (authority: string, at: EpochMs): number =>
    sql.get<{ count: number }>(
      `select count(*) as count from crawls indexed by crawls_leased_on
       where authority = ? and lease_token is not null and lease_expires_at > ?`,
      authority,
      at,
    )?.count ?? 0;

  const claimOf = (crawl: CrawlRow, token: LeaseToken, at: EpochMs): Claim => ({
    snapshot: snapshotOf(crawl),
    token,
    batch: crawl.batch,
    holds: quota.holdsOf(crawl.n),
    ending: crawl.ending === null ? null : (JSON.parse(crawl.ending) as Ending),
    leasesOnAuthority: leasesOn(crawl.authority, at),
    claimedAt: at,
  });

  function lose(leases: readonly CrawlRow[], at: EpochMs): Snapshot[] {
    const ended: Snapshot[] = [];
    for (const crawl of leases) {
      if (crawl.losses + 1 >= MAX_LOSSES) ended.push(steps.end(crawl, at, { endReason: 'worker_lost', error: WORKER_LOST_ERROR }, null));
      else sql.run('update crawls set lease_token = null, lease_expires_at = null, losses = losses + 1 where n = ?', crawl.n);
    }
    return ended;
  }

  return {
    claim(token, leaseMs) {
      const at = now();
      // A claim whose answer was lost is answered again.
      const held = sql.get<CrawlRow>(`select ${SNAPSHOT}, ${RUN} from crawls where lease_token = ?`, token);
      if (held !== undefined) return claimOf(held, token, at);
      const organization = sql.get<{ id: string }>(NEXT_ORGANIZATION);
      const crawl = organization === undefined ? undefined : sql.get<CrawlRow>(OLDEST, organization.id);
      if (crawl === undefined) return null;
      sql.run('update crawls set lease_token = ?, lease_expires_at = ?, run = run + 1 where n = ?', token, at + leaseMs, crawl.n);
      return claimOf(crawl, token, at);
    },
    heartbeat(crawlId, token, leaseMs) {
      const crawl = steps.leased(crawlId, token);
      if (crawl === null) return 'lost';
      const at = now();
      sql.run('update crawls set lease_expires_at = ? where n = ?', at + leaseMs, crawl.n);
      return { cancelRequested: crawl.cancel_requested === 1, leasesOnAuthority: leasesOn(crawl.authority, at) };
    },
    release(crawlId, token) {
      sql.run('update crawls set lease_token = null, lease_expires_at = null where id = ? and lease_token = ?', crawlId, token);
    },
    reapLeases() {
      const at = now();
      const text = `select ${SNAPSHOT}, ${RUN} from crawls indexed by crawls_lease_end where lease_token is not null and lease_expires_at <= ?`;
      return lose(sql.all<CrawlRow>(text, at), at);
    },
    expireLeases() {
      const text = `select ${SNAPSHOT}, ${RUN} from crawls indexed by crawls_lease_end where lease_token is not null and lease_expires_at >= 0`;
      return lose(sql.all<CrawlRow>(text), now());
    },
  };
}
