import type { Filter } from 'mongodb';
import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import type { PageWithLinks } from '#domain/page.ts';
import type { CopyOwner } from '../copy-store.ts';
import { copiedRunOf } from './copy-crawls.ts';
import { type CopyTable, type CopyTables, insertAbsent, plainReads } from './copy-table.ts';
import type { Database } from './database.ts';
import type { CrawlDocument, FindingDocument, PageDocument } from './documents.ts';
import { findingOf, linkedPageOf } from './page-records.ts';
import { urlHash } from './page-writes.ts';

/** Of how many crawls one command counts the pages, ten thousands each. */
const CRAWLS_AT_ONCE = 50;

function documentOf(crawl: CrawlId, page: PageWithLinks): PageDocument {
  const { seq, url, depth, status, redirects, foundOn, reason, fetchedAt, durationMs, ...result } = page;
  const discovered = { crawl, seq, url, urlHash: urlHash(url), depth, status, redirects, foundOn, reason };
  return fetchedAt === null || durationMs === null ? discovered : { ...discovered, ...result, fetchedAt, durationMs };
}

export function createPageCopies({ crawls, pages, findings }: Database): CopyTables<'page' | 'finding'> {
  /** Counts over the crawls of an organization that match. */
  async function countOf(
    organizationId: OrganizationId,
    filter: Filter<CrawlDocument>,
    count: (ids: CrawlId[]) => Promise<number>,
  ): Promise<number> {
    let total = 0;
    let ids: CrawlId[] = [];
    for await (const { _id } of crawls.find({ organizationId, ...filter }, { projection: { _id: 1 } })) {
      ids.push(_id);
      if (ids.length < CRAWLS_AT_ONCE) continue;
      total += await count(ids);
      ids = [];
    }
    return total + (await count(ids));
  }

  /** Findings of the run that is valid, or that will be when the crawl is copied in; null while it has none. */
  async function findingsOf({ crawlId }: CopyOwner<'finding'>): Promise<Pick<CopyTable<'finding'>, 'read' | 'find'> | null> {
    const crawl = await crawls.findOne({ _id: crawlId }, { projection: { findingsRun: 1 } });
    const run = crawl === null ? copiedRunOf(crawlId) : crawl.findingsRun;
    if (run === null) return null;
    return plainReads<'finding', FindingDocument>({
      kind: 'finding',
      collection: findings,
      ownedBy: () => ({ crawl: crawlId, run }),
      field: 'ordinal',
      of: findingOf,
    });
  }

  return {
    page: {
      ...plainReads<'page', PageDocument>({
        kind: 'page',
        collection: pages,
        ownedBy: ({ crawlId }) => ({ crawl: crawlId }),
        field: 'seq',
        of: linkedPageOf,
      }),
      insert: ({ crawlId }, records) =>
        insertAbsent(
          pages,
          records.map((page) => documentOf(crawlId, page)),
        ),
      count: (organizationId) => countOf(organizationId, {}, (ids) => pages.countDocuments({ crawl: { $in: ids } })),
    },
    finding: {
      read: async (owner, after, limit) => (await findingsOf(owner))?.read(owner, after, limit) ?? [],
      find: async (owner, records) => (await findingsOf(owner))?.find(owner, records) ?? [],
      insert: ({ crawlId }, records) =>
        insertAbsent(
          findings,
          records.map((finding) => ({ ...finding, crawl: crawlId, run: copiedRunOf(crawlId) })),
        ),
      // A crawl that has ended keeps the findings of its valid run alone.
      count: (organizationId) =>
        countOf(organizationId, { findingsRun: { $ne: null } }, (ids) => findings.countDocuments({ crawl: { $in: ids } })),
    },
  };
}
