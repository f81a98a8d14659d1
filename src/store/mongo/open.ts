import { type DbOptions, MongoClient, type MongoClientOptions, ReadConcern, WriteConcern } from 'mongodb';
import type { CrawlId } from '#domain/ids.ts';
import type { Log } from '#telemetry.ts';
import type { Store } from '../store.ts';
import { assembleStore } from './assemble.ts';
import { databaseOf, timeOf } from './database.ts';
import { createOperations } from './operations.ts';
import { told } from './retry.ts';
import { prepareSchema } from './schema.ts';

/** What the driver is told; each has a row in the config. */
export type MongoSettings = {
  /** The most connections of this process. */
  readonly poolSize: number;
  /** Until a connection is made, milliseconds. */
  readonly connectTimeoutMs: number;
  /** Until a server that takes the command is found, or a connection of the pool is free, milliseconds. */
  readonly selectionTimeoutMs: number;
  /** Until a command is answered, and until a majority has a write, milliseconds. */
  readonly answerTimeoutMs: number;
  /** Whether the driver repeats a read once whose connection was lost. */
  readonly retryReads: boolean;
};

export const DEFAULT_MONGO_SETTINGS: MongoSettings = {
  poolSize: 50,
  connectTimeoutMs: 5_000,
  selectionTimeoutMs: 5_000,
  answerTimeoutMs: 10_000,
  retryReads: true,
};

export type MongoStoreOptions = {
  /** A MongoDB connection string; the database is the one that it names, or `crawlgate`. */
  readonly url: string;
  readonly log: Log;
  readonly settings: MongoSettings;
};

/** The URL is none that the driver takes. What exactly is wrong is not told: it would show parts of the URL, such as a password. */
export class WrongMongoUrl extends Error {
  override readonly name = 'WrongMongoUrl';
}

function newClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch {
    throw new WrongMongoUrl('The URL is not a MongoDB connection string, or has an option that there is not.');
  }
}

const NAMES_DATABASE = /^mongodb(\+srv)?:\/\/[^/?]+\/[^?]/;

/**
 * Opens the store on a MongoDB server, replica set or sharded cluster; makes and checks its indexes. Reads and writes are majority
 * ones on the primary, whatever the URL says, and no write is ever repeated by the driver: each is safe to repeat by its own filter.
 * Throws `WrongMongoUrl`, `unavailable` when no server answers, and an `Error` when the database was written by a newer version.
 */
export async function openMongoStore({ url, log, settings }: MongoStoreOptions): Promise<Store> {
  const { poolSize, connectTimeoutMs, selectionTimeoutMs, answerTimeoutMs, retryReads } = settings;
  const client = newClient(url, {
    appName: 'crawlgate',
    maxPoolSize: poolSize,
    connectTimeoutMS: connectTimeoutMs,
    serverSelectionTimeoutMS: selectionTimeoutMs,
    waitQueueTimeoutMS: selectionTimeoutMs,
    socketTimeoutMS: answerTimeoutMs,
    readPreference: 'primary',
    retryWrites: false,
    retryReads,
    ignoreUndefined: true,
  });
  client.on('serverDescriptionChanged', ({ address, previousDescription, newDescription: { type, error } }) => {
    if (type === 'Unknown' && previousDescription.type !== 'Unknown')
      log.warn({ server: address, err: error }, 'a database server is gone');
  });
  // Not told to the client: there `journal`, `wtimeout` and `readConcernLevel` of the URL would stand above these.
  const concerns: DbOptions = {
    writeConcern: new WriteConcern('majority', answerTimeoutMs, true),
    readConcern: new ReadConcern('majority'),
  };
  const database = databaseOf(client.db(NAMES_DATABASE.test(url) ? undefined : 'crawlgate', concerns));
  try {
    await client.connect();
    await prepareSchema(database);
  } catch (error) {
    await client.close();
    throw told(error);
  }
  return assembleStore({
    operations: {
      ...createOperations(database),
      async ping() {
        // A write that changes nothing is taken only where one that does would be.
        await database.trash.deleteOne({ _id: '' as CrawlId });
        await timeOf(database);
      },
    },
    shut: () => client.close(),
  });
}
