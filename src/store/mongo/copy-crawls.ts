import type { CrawlId, LeaseToken, OrganizationId } from '#domain/ids.ts';
import type { Copies } from '../copy-store.ts';
import { idsOf } from './copy-accounts.ts';
import { type CopyTables, insertAbsent, plainReads } from './copy-table.ts';
import { idempotencyIdOf } from './crawl-ids.ts';
import { beyond } from './crawl-list.ts';
import { siteOf } from './crawl-reads.ts';
import { snapshotOf } from './crawl-records.ts';
import { atMost, type Database } from './database.ts';
import type { CrawlDocument, IdempotencyDocument } from './documents.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';

/** A crawl that is copied in has had no run here: its findings are those of a run that is named like it. */
export const copiedRunOf = (crawlId: CrawlId): LeaseToken => crawlId as string as LeaseToken;

function documentOf({ id, startedAt, finishedAt, changedAt, holds, ...crawl }: Copies['crawl']): CrawlDocument {
  return {
    ...crawl,
    _id: id,
    startedAt: new Date(startedAt),
    analyzingAt: null,
    finishedAt: finishedAt === null ? null : new Date(finishedAt),
    changedAt: new Date(changedAt),
    lease: { token: null, beatAt: null, ms: 0 },
    pending: null,
    charged: Object.fromEntries(holds.map(({ month, used }) => [month, used])),
    months: holds.map(({ month }) => month),
    findingsRun: crawl.findingsCount === null ? null : copiedRunOf(id),
    idempotencyKey: null,
    outbox: [],
  };
}

export function createCrawlCopies(
  database: Database,
  quota: QuotaWrites,
  pages: PageWrites,
): CopyTables<'site' | 'crawl' | 'idempotency' | 'event'> {
  const { crawls, sites, idempotency, events, trash } = database;
  const ofOrganization = ({ organizationId }: { readonly organizationId: OrganizationId }) => ({ organizationId });

  async function crawlOf(crawl: CrawlDocument): Promise<Copies['crawl']> {
    if (crawl.pending !== null) await pages.apply(crawl._id, crawl.pending);
    const { changedAt, losses, batch, ending } = crawl;
    const holds = crawl.state === 'running' ? await quota.holdsOf(crawl) : [];
    return {
      ...snapshotOf(crawl),
      changedAt: changedAt.getTime(),
      losses,
      batch,
      ending,
      holds: holds.sort((a, b) => (a.month < b.month ? -1 : 1)),
    };
  }

  const idempotencyOf = ({ _id, requestHash, crawlId, createdAt }: IdempotencyDocument): Copies['idempotency'] => ({
    key: _id.slice(_id.indexOf(':') + 1),
    requestHash,
    crawlId,
    createdAt: createdAt.getTime(),
  });
  /** One that names no crawl is of a start that was cut off, or of a crawl that is being removed. */
  async function naming(records: readonly IdempotencyDocument[]): Promise<IdempotencyDocument[]> {
    const named = await crawls.find({ _id: { $in: records.map(({ crawlId }) => crawlId) } }, { projection: { _id: 1 } }).toArray();
    const ids = new Set(named.map(({ _id }) => _id));
    return records.filter(({ crawlId }) => ids.has(crawlId));
  }
  const recordsAfter = (organizationId: OrganizationId, after: string | undefined, limit: number): Promise<IdempotencyDocument[]> =>
    atMost(idempotency.find({ _id: idsOf(organizationId, after) }).sort({ _id: 1 }), limit);
  /** Those after `after` that name a crawl, out of the next `limit` that do or do not, or of as many more as it takes to find one. */
  async function idempotencyAfter(
    organizationId: OrganizationId,
    after: string | undefined,
    limit: number,
  ): Promise<Copies['idempotency'][]> {
    for (let place = after; ; ) {
      const records = await recordsAfter(organizationId, place, limit);
      const last = records.at(-1);
      if (last === undefined) return [];
      const found = await naming(records);
      if (found.length > 0) return found.map(idempotencyOf);
      place = idempotencyOf(last).key;
    }
  }

  return {
    site: {
      ...plainReads({ kind: 'site', collection: sites, ownedBy: ofOrganization, field: 'authority', of: siteOf }),
      insert: (_, records) =>
        insertAbsent(
          sites,
          records.map(({ id, firstCrawledAt, lastCrawledAt, ...site }) => ({
            ...site,
            _id: id,
            firstCrawledAt: new Date(firstCrawledAt),
            lastCrawledAt: new Date(lastCrawledAt),
          })),
        ),
      count: (organizationId) => sites.countDocuments({ organizationId }),
    },
    crawl: {
      async read({ organizationId }, after, limit) {
        const found = await atMost(
          crawls
            .find({ organizationId, ...(after !== null && beyond('$gt', after)) }, { projection: { outbox: 0 } })
            .sort({ startedAt: 1, _id: 1 }),
          limit,
        );
        return Promise.all(found.map(crawlOf));
      },
      async find({ organizationId }, records) {
        const found = await crawls
          .find({ _id: { $in: records.map(({ id }) => id) }, organizationId }, { projection: { outbox: 0 } })
          .toArray();
        return Promise.all(found.map(crawlOf));
      },
      async insert(_, records) {
        // One that was removed here within a day is back: what is looked for a day after the removal must not be its pages.
        await trash.deleteMany({ _id: { $in: records.map(({ id }) => id) } });
        return insertAbsent(crawls, records.map(documentOf));
      },
      count: (organizationId) => crawls.countDocuments({ organizationId }),
    },
    idempotency: {
      read: ({ organizationId }, after, limit) => idempotencyAfter(organizationId, after?.key, limit),
      async find({ organizationId }, records) {
        const ids = records.map(({ key }) => idempotencyIdOf(organizationId, key));
        return (await idempotency.find({ _id: { $in: ids } }).toArray()).map(idempotencyOf);
      },
      async insert({ organizationId }, records) {
        const stored = await insertAbsent(
          idempotency,
          records.map(({ key, createdAt, ...record }) => ({
            ...record,
            _id: idempotencyIdOf(organizationId, key),
            keyId: null,
            createdAt: new Date(createdAt),
          })),
        );
        // The crawl takes its record along when it is removed.
        const noted = records.map(({ key, crawlId }) => ({
          updateOne: { filter: { _id: crawlId, idempotencyKey: null }, update: { $set: { idempotencyKey: key } } },
        }));
        if (noted.length > 0) await crawls.bulkWrite(noted, { ordered: false });
        return stored;
      },
      async count(organizationId) {
        let count = 0;
        let place: string | undefined;
        for (;;) {
          const found = await idempotencyAfter(organizationId, place, 1_000);
          if (found.length === 0) return count;
          count += found.length;
          place = found.at(-1)?.key;
        }
      },
    },
    event: {
      ...plainReads({
        kind: 'event',
        collection: events,
        ownedBy: ofOrganization,
        field: 'seq',
        of: ({ _id, at, ...event }) => ({ ...event, at: at.getTime() }),
      }),
      insert: (_, records) =>
        insertAbsent(
          events,
          records.map(({ at, ...event }) => ({ ...event, at: new Date(at) })),
        ),
      count: (organizationId) => events.countDocuments({ organizationId }),
    },
  };
}
