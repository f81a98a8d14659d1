import { type Collection, type Db, type Document, type Filter, type FindCursor, MongoServerError, type WithId } from 'mongodb';
import type { EpochMs } from '#domain/ids.ts';
import type {
  CrawlDocument,
  EventDocument,
  FindingDocument,
  IdempotencyDocument,
  KeyDocument,
  LeaderDocument,
  MetaDocument,
  OrganizationDocument,
  PageDocument,
  RemovalDocument,
  RingDocument,
  RobotsDocument,
  SiteDocument,
  TrashDocument,
  UsageDocument,
} from './documents.ts';

/** The collections by name. */
export type Database = {
  readonly meta: Collection<MetaDocument>;
  /** The same collection, for its other record. */
  readonly leader: Collection<LeaderDocument>;
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
  readonly removals: Collection<RemovalDocument>;
  readonly robots: Collection<RobotsDocument>;
};

export const databaseOf = (db: Db): Database => ({
  meta: db.collection('meta'),
  leader: db.collection('meta'),
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
  removals: db.collection('removals'),
  robots: db.collection('robots'),
});

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

const NOT_A_REPLICA_SET = 123;
const LATEST_TIMEOUT_MS = 10_000;

/**
 * For a read that explains why a write changed nothing: what the write met may not be with a majority yet, and a majority read would
 * miss it. Waits until a majority has it (on a standalone server there is nothing to wait for). `filter` names one record by `_id`.
 */
export async function findLatest<T extends object>(
  collection: Collection<T>,
  filter: Filter<T>,
  projection: Document = {},
): Promise<WithId<T> | null> {
  try {
    return await collection.findOne(filter, { projection, readConcern: { level: 'linearizable' }, maxTimeMS: LATEST_TIMEOUT_MS });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== NOT_A_REPLICA_SET) throw error;
    return collection.findOne(filter, { projection, readConcern: { level: 'local' } });
  }
}

/** What the cursor gives, at most so many, in one answer: the server by itself ends its first one at 101 records. */
export const atMost = <T>(cursor: FindCursor<T>, most: number): Promise<T[]> =>
  cursor
    .limit(most)
    .batchSize(most + 1)
    .toArray();

/**
 * Deletes up to `limit` records that match; answers how many there were, also when somebody else has deleted them meanwhile: 0 says that there
 * are none. One that matches no more when its turn comes stays.
 */
export async function deleteSome<T extends object>(collection: Collection<T>, filter: Filter<T>, limit: number): Promise<number> {
  const some = await atMost(collection.find(filter, { projection: { _id: 1 } }), limit);
  if (some.length === 0) return 0;
  const named = { _id: { $in: some.map(({ _id }) => _id) } } as Filter<T>;
  await collection.deleteMany({ $and: [named, filter] } as Filter<T>);
  return some.length;
}
