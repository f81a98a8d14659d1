import { randomUUID } from 'node:crypto';
import type { MongoClient } from 'mongodb';
import { urlOf } from '#store/mongo/fixtures/harness.ts';
import { type Cluster, type ClusterOptions, startCluster } from '../scripts/cluster/cluster.ts';
import { environmentOf } from './server-process.ts';

export const KEY = 'the-first-key-of-the-tests-0123456789';

/** A database of its own on the MongoDB of the tests, and the environment of processes on it. */
export type SharedWorld = {
  readonly environment: Readonly<Record<string, string>>;
  readonly database: ReturnType<MongoClient['db']>;
  /** The same database by another address. */
  storeUrlAt(hosts: string): string;
  /** 2 gateways and 2 workers on a Redis of their own, unless `options` say otherwise. */
  cluster(options?: Partial<ClusterOptions>): Promise<Cluster>;
  [Symbol.asyncDispose](): Promise<void>;
};

export function openSharedWorld(url: string, admin: MongoClient): SharedWorld {
  const name = `crawlgate-${randomUUID()}`;
  const database = admin.db(name);
  const environment = environmentOf({
    STORE_URL: urlOf(url, name),
    CRAWLGATE_API_KEY: KEY,
    CRAWL_ALLOW_NETWORKS: '127.0.0.0/8',
    READ_LIMIT_PER_MINUTE: '0',
    PORT: '0',
  });
  return {
    environment,
    database,
    storeUrlAt: (hosts) => urlOf(url, name, { hosts, query: 'directConnection=true' }),
    cluster: (options = {}) => startCluster({ ...options, environment: { ...environment, ...options.environment } }),
    async [Symbol.asyncDispose]() {
      await database.dropDatabase();
    },
  };
}
