import { type Collection, type Document, type IndexDescription, MongoServerError } from 'mongodb';
import type { Database } from './database.ts';
import { ifAbsent } from './retry.ts';

/** The version of what is stored; it rises with a change that an older program cannot live with. */
export const SCHEMA_VERSION = 1;

/** IndexOptionsConflict, IndexKeySpecsConflict. */
const CONFLICTS = new Set([85, 86]);

const by = (...fields: string[]): IndexDescription => ({
  key: Object.fromEntries(fields.map((field) => [field, 1])),
  name: fields.join('_').replaceAll('.', '_'),
});
const unique = (...fields: string[]): IndexDescription => ({ ...by(...fields), unique: true });

/**
 * Besides `_id`. Every unique one starts with its collection's shard key: pages and findings are sharded by crawl, events by
 * organization; everything else is unique by `_id` alone. None is partial.
 */
export const INDEXES: Readonly<Partial<Record<keyof Database, readonly IndexDescription[]>>> = {
  organizations: [by('id'), { ...by('removedAt'), sparse: true }],
  keys: [by('secretHash'), by('organizationId', 'createdAt', '_id')],
  idempotency: [by('createdAt')],
  sites: [by('organizationId', 'authority')],
  crawls: [
    by('organizationId', 'startedAt', '_id'),
    by('organizationId', 'state', 'startedAt', '_id'),
    by('organizationId', 'siteId', 'startedAt', '_id'),
    by('organizationId', 'siteId', 'state', 'startedAt', '_id'),
    by('organizationId', 'host', 'startedAt', '_id'),
    by('organizationId', 'host', 'state', 'startedAt', '_id'),
    by('organizationId', 'changedAt', '_id'),
    by('state', 'lease.token', 'organizationId', 'startedAt', '_id'),
    by('authority', 'lease.token'),
    by('finishedAt'),
    by('outbox.type', 'changedAt'),
    { ...by('unsettled'), sparse: true },
  ],
  pages: [unique('crawl', 'seq'), unique('crawl', 'urlHash'), by('crawl', 'status', 'seq')],
  findings: [unique('crawl', 'run', 'ordinal'), by('crawl', 'run', 'severity', 'ordinal'), by('crawl', 'run', 'rule', 'ordinal')],
  events: [unique('organizationId', 'seq'), unique('organizationId', 'key'), by('at')],
  trash: [by('emptiedAt')],
  robots: [by('expiresAt')],
};

/**
 * Creates the indexes where they are absent, checks that each is what it should be, and writes the schema's version. Repeatable, and
 * safe beside others that do the same. Throws an `Error` when the database was written by a newer version, or has another index
 * under one of the names.
 */
export async function prepareSchema(database: Database): Promise<void> {
  const { meta } = database;
  // Two first starts may insert at once.
  await ifAbsent(() => meta.updateOne({ _id: 'schema' }, { $setOnInsert: { version: SCHEMA_VERSION } }, { upsert: true }));
  const version = (await meta.findOne({ _id: 'schema' }))?.version ?? 0;
  if (version > SCHEMA_VERSION) throw new Error(`The database has schema ${version}; this version knows up to ${SCHEMA_VERSION}.`);
  for (const [name, indexes] of Object.entries(INDEXES)) {
    const collection: Pick<Collection, 'createIndexes' | 'indexes' | 'collectionName'> = database[name as keyof Database];
    const conflict = await conflictOf(() => collection.createIndexes([...indexes]));
    const present = await collection.indexes();
    for (const index of indexes) checkIndex(collection.collectionName, index, present);
    if (conflict !== null) throw conflict;
  }
}

/** The error of a server that has another index of the same name or the same fields. */
async function conflictOf(create: () => Promise<unknown>): Promise<MongoServerError | null> {
  try {
    await create();
    return null;
  } catch (error) {
    if (error instanceof MongoServerError && CONFLICTS.has(Number(error.code))) return error;
    throw error;
  }
}

function checkIndex(collection: string, index: IndexDescription, present: readonly Document[]): void {
  const found = present.find((one) => one.name === index.name);
  const same =
    found !== undefined &&
    JSON.stringify(found.key) === JSON.stringify(index.key) &&
    (found.unique === true) === (index.unique === true) &&
    found.partialFilterExpression === undefined;
  if (!same) throw new Error(`The index ${index.name} of ${collection} is not the one that this version needs: drop it and start again.`);
}
