import type { CrawlPhase, CrawlState, EndReason } from '#domain/crawl.ts';
import type { CrawlId, OrganizationId, SiteId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';

/** The columns of `crawls` that a snapshot is made of. */
export const SNAPSHOT = `n, id, organization_id, site_id, url, host, authority, state, phase, end_reason, error, max_urls, max_depth,
  discovered, fetched, redirected, failed, blocked, frontier_truncated, findings_count, cancel_requested, started_at, finished_at,
  version`;

export type SnapshotRow = {
  n: number;
  id: CrawlId;
  organization_id: OrganizationId;
  site_id: SiteId;
  url: string;
  host: string;
  authority: string;
  state: CrawlState;
  phase: CrawlPhase;
  end_reason: EndReason | null;
  error: string | null;
  max_urls: number;
  max_depth: number;
  discovered: number;
  fetched: number;
  redirected: number;
  failed: number;
  blocked: number;
  frontier_truncated: number;
  findings_count: number | null;
  cancel_requested: number;
  started_at: number;
  finished_at: number | null;
  version: number;
};

/** The columns that are about who runs it. */
export const RUN = 'lease_token, lease_expires_at, run, losses, batch, batch_token, ending';
export type CrawlRow = SnapshotRow & {
  lease_token: string | null;
  lease_expires_at: number | null;
  /** How often it was claimed; names the findings of one claim. */
  run: number;
  losses: number;
  batch: number;
  /** The token under which `batch` was committed. */
  batch_token: string | null;
  ending: string | null;
};

export const snapshotOf = (row: SnapshotRow): Snapshot => ({
  id: row.id,
  organizationId: row.organization_id,
  siteId: row.site_id,
  url: row.url,
  host: row.host,
  authority: row.authority,
  state: row.state,
  phase: row.phase,
  endReason: row.end_reason,
  error: row.error,
  maxUrls: row.max_urls,
  maxDepth: row.max_depth,
  counters: {
    discovered: row.discovered,
    fetched: row.fetched,
    redirected: row.redirected,
    failed: row.failed,
    blocked: row.blocked,
  },
  frontierTruncated: row.frontier_truncated === 1,
  findingsCount: row.findings_count,
  cancelRequested: row.cancel_requested === 1,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  version: row.version,
});

/** Each organization that has something to claim is stepped to in the index, whatever the length of its queue. */
export const WAITING = `with recursive waiting (id) as (
    select min(organization_id) from crawls indexed by crawls_claimable where state = 'running' and lease_token is null
    union all
    select (select min(organization_id) from crawls indexed by crawls_claimable
            where state = 'running' and lease_token is null and organization_id > waiting.id)
    from waiting where waiting.id is not null
  )`;

/** Whether an organization of `WAITING` is none that is being removed. */
export const LIVING = 'not exists (select 1 from organizations where organizations.id = waiting.id and removed_at is not null)';
