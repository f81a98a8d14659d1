import type { CrawlId } from '#domain/ids.ts';
import { freeOf, monthOf, resetsAt } from '#domain/quota.ts';
import type { CrawlStore, SiteRecord } from '../crawl-store.ts';
import { LIVING } from './account-reads.ts';
import { LIGHT, snapshotOf } from './crawl-records.ts';
import { atMost, type Database, findTimed, timeOf } from './database.ts';
import type { SiteDocument } from './documents.ts';
import { findingOf, pageOf, WITHOUT_LINKS } from './page-records.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { StartRings } from './start-rings.ts';

export const siteOf = ({ _id, organizationId, host, authority, firstCrawledAt, lastCrawledAt }: SiteDocument): SiteRecord => ({
  id: _id,
  organizationId,
  host,
  authority,
  firstCrawledAt: firstCrawledAt.getTime(),
  lastCrawledAt: lastCrawledAt.getTime(),
});

export type CrawlReads = Pick<
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

export function createCrawlReads(database: Database, quota: QuotaWrites, rings: StartRings): CrawlReads {
  const { crawls, sites, pages, findings, organizations } = database;
  return {
    getStartAllowance: async (keyId) => (await rings.look(keyId, null)).starts,
    async getCrawl(organizationId, id) {
      const found = await crawls.findOne({ _id: id, organizationId }, { projection: LIGHT });
      return found === null ? null : snapshotOf(found);
    },
    getSnapshots: async (ids) => (await atMost(crawls.find({ _id: { $in: [...ids] } }, { projection: LIGHT }), ids.length)).map(snapshotOf),
    async getVersions(owned) {
      const owners = new Map(owned.map(({ id, organizationId }) => [id, organizationId]));
      // by id alone, which leaves the planner no choice
      const found = crawls.find({ _id: { $in: [...owners.keys()] } }, { projection: { organizationId: 1, version: 1 } });
      const versions = new Map<CrawlId, number>();
      for (const { _id, organizationId, version } of await atMost(found, owners.size))
        if (owners.get(_id) === organizationId) versions.set(_id, version);
      return versions;
    },
    async listChanged(organizationId, since, limit) {
      // The time first: what changes between the two is read twice rather than never.
      const readAt = await timeOf(database);
      const found = await atMost(
        crawls.find({ organizationId, changedAt: { $gte: new Date(since) } }, { projection: LIGHT }).sort({ changedAt: 1, _id: 1 }),
        limit,
      );
      return { snapshots: found.map(snapshotOf), readAt };
    },
    getSites: async (organizationId, ids) => (await atMost(sites.find({ _id: { $in: [...ids] }, organizationId }), ids.length)).map(siteOf),
    async listSites({ organizationId, after = '', limit }) {
      const found = await atMost(sites.find({ organizationId, authority: { $gt: after } }).sort({ authority: 1 }), limit);
      return found.map(siteOf);
    },
    async listPages(organizationId, crawlId, { status, afterSeq = -1, limit }) {
      const filter = { crawl: crawlId, seq: { $gt: afterSeq }, ...(status !== undefined && { status }) };
      const [crawl, found] = await Promise.all([
        crawls.findOne({ _id: crawlId, organizationId }, { projection: { _id: 1 } }),
        atMost(pages.find(filter, { projection: WITHOUT_LINKS }).sort({ seq: 1 }), limit),
      ]);
      return crawl === null ? null : found.map(pageOf);
    },
    async listFindings(organizationId, crawlId, { severity, rule, afterOrdinal = -1, limit }) {
      const crawl = await crawls.findOne({ _id: crawlId, organizationId }, { projection: { state: 1, findingsRun: 1 } });
      if (crawl === null) return null;
      if (crawl.state === 'running' || crawl.findingsRun === null) return [];
      const filter = { ...(severity !== undefined && { severity }), ...(rule !== undefined && { rule }) };
      const found = await atMost(
        findings.find({ crawl: crawlId, run: crawl.findingsRun, ...filter, ordinal: { $gt: afterOrdinal } }).sort({ ordinal: 1 }),
        limit,
      );
      return found.map(findingOf);
    },
    async getUsage(organizationId) {
      const organization = await findTimed(organizations, { id: organizationId, ...LIVING });
      if (organization === null) return null;
      const month = monthOf(organization.now.getTime());
      const usage = { limit: organization.monthlyUrlQuota, ...(await quota.chargedIn(organizationId, month)) };
      return { month, ...usage, remaining: freeOf(usage), resetsAt: resetsAt(month) };
    },
  };
}
