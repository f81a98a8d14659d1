import type { z } from '@hono/zod-openapi';
import type { EpochMs } from '#domain/ids.ts';
import type { Page } from '#domain/page.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { List } from '#service/list.ts';
import type { DescribedFinding } from '#service/list-findings.ts';
import type { SiteRecord } from '#store/store.ts';
import type * as schemas from './schemas.ts';

/** `2026-11-21T03:05:26.537Z` */
export const isoTime = (at: EpochMs): string => new Date(at).toISOString();
const isoOrNull = (at: EpochMs | null): string | null => (at === null ? null : isoTime(at));

export const renderCrawl = ({ id, host, state, counters, findingsCount, error }: Snapshot): z.output<typeof schemas.Crawl> => ({
  id,
  host,
  state,
  urlsCrawled: counters.fetched,
  findingsCount,
  error,
});

export const renderCrawlUpdate = (snapshot: Snapshot): z.output<typeof schemas.CrawlUpdate> => ({
  ...renderCrawl(snapshot),
  phase: snapshot.phase,
  version: snapshot.version,
});

export const renderCrawlListItem = (snapshot: Snapshot): z.output<typeof schemas.CrawlListItem> => ({
  id: snapshot.id,
  host: snapshot.host,
  state: snapshot.state,
  urlsCrawled: snapshot.counters.fetched,
  findingsCount: snapshot.findingsCount,
  startedAt: isoTime(snapshot.startedAt),
  finishedAt: isoOrNull(snapshot.finishedAt),
});

export const renderPage = (page: Page): z.output<typeof schemas.Page> => ({
  url: page.url,
  status: page.status,
  depth: page.depth,
  httpStatus: page.httpStatus,
  contentType: page.contentType,
  title: page.facts === null ? null : page.facts.title,
  reason: page.reason,
  redirectUrl: page.redirectUrl,
  fetchedAt: isoOrNull(page.fetchedAt),
  durationMs: page.durationMs,
  bytes: page.bytes,
  truncated: page.truncated,
});

export const renderFinding = ({ fingerprint, rule, severity, description, url, evidence }: DescribedFinding) => ({
  id: fingerprint,
  rule,
  severity,
  title: description?.title ?? null,
  why: description?.why ?? null,
  fix: description?.fix ?? null,
  url,
  evidence,
});

export const renderSite = ({ id, host, authority, firstCrawledAt, lastCrawledAt }: SiteRecord): z.output<typeof schemas.Site> => ({
  id,
  host,
  authority,
  firstCrawledAt: isoTime(firstCrawledAt),
  lastCrawledAt: isoTime(lastCrawledAt),
});

export const renderList = <Item, Rendered>({ items, nextCursor }: List<Item>, render: (item: Item) => Rendered) => ({
  data: items.map(render),
  nextCursor,
});
