import type { Collection, Db } from 'mongodb';
import type { EpochMs } from '#domain/ids.ts';
import type {
  CrawlDocument,
  EventDocument,
  FindingDocument,
  IdempotencyDocument,
  KeyDocument,
  MetaDocument,
  OrganizationDocument,
  PageDocument,
  RingDocument,
  RobotsDocument,
  SiteDocument,
  TrashDocument,
  UsageDocument,
} from './documents.ts';

/** The collections by name. */
export type Database = {
  readonly meta: Collection<MetaDocument>;
  readonly organizations: Collection<OrganizationDocument>;
  readonly keys: Collection<KeyDocument>;
  readonly rings: Collection<RingDocument>;
  readonly idempotency: Collection<IdempotencyDocument>;
  readonly sites: Collection<SiteDocument>;
  readonly crawls: Collection<CrawlDocument>;
  readonly pages: Collection<PageDocument>;
  readonly findings: Collection<FindingDocument>;
  readonly usage: Collection<UsageDocument>;
  readonly events: Collection<EventDocument>;
  readonly trash: Collection<TrashDocument>;
  readonly robots: Collection<RobotsDocument>;
};

export const databaseOf = (db: Db): Database => ({
  meta: db.collection('meta'),
  organizations: db.collection('organizations'),
  keys: db.collection('api_keys'),
  rings: db.collection('start_rings'),
  idempotency: db.collection('idempotency'),
  sites: db.collection('sites'),
  crawls: db.collection('crawls'),
  pages: db.collection('pages'),
  findings: db.collection('findings'),
  usage: db.collection('usage'),
  events: db.collection('events'),
  trash: db.collection('trash'),
  robots: db.collection('robots'),
});

/**
 * For the reads that explain why a write found nothing to change: what it met may not be with a majority yet, and a majority read would
 * miss it. Waits until a majority has it. On one record, by `_id`.
 */
export const LATEST = { readConcern: { level: 'linearizable' }, maxTimeMS: 10_000 } as const;

/** The server's time. */
export async function timeOf({ meta }: Database): Promise<EpochMs> {
  const [found] = await meta.aggregate<{ now: Date }>([{ $match: { _id: 'schema' } }, { $project: { now: '$$NOW' } }]).toArray();
  if (found === undefined) throw new Error('The schema record is gone: the database was dropped under a running server.');
  return found.now.getTime();
}

/** A document with the server's time of the read, in one command. */
export type Timed<T> = T & { readonly now: Date };

export async function findTimed<T extends object>(collection: Collection<T>, filter: object): Promise<Timed<T> | null> {
  const [found] = await collection.aggregate<Timed<T>>([{ $match: filter }, { $limit: 1 }, { $addFields: { now: '$$NOW' } }]).toArray();
  return found ?? null;
}
