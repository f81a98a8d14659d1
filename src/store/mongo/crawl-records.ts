import type { Snapshot } from '#domain/snapshot.ts';
import type { CrawlDocument } from './documents.ts';

/** Everything but what may be large and is nobody's to read: up to a MiB of batch. */
export const LIGHT = { pending: 0, outbox: 0 } as const;
export type LightCrawl = Omit<CrawlDocument, 'pending' | 'outbox'>;

export const snapshotOf = (crawl: LightCrawl): Snapshot => ({
  id: crawl._id,
  organizationId: crawl.organizationId,
  siteId: crawl.siteId,
  url: crawl.url,
  host: crawl.host,
  authority: crawl.authority,
  state: crawl.state,
  phase: crawl.phase,
  endReason: crawl.endReason,
  error: crawl.error,
  maxUrls: crawl.maxUrls,
  maxDepth: crawl.maxDepth,
  counters: crawl.counters,
  frontierTruncated: crawl.frontierTruncated,
  findingsCount: crawl.findingsCount,
  cancelRequested: crawl.cancelRequested,
  startedAt: crawl.startedAt.getTime(),
  finishedAt: crawl.finishedAt?.getTime() ?? null,
  version: crawl.version,
});
