import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONFIG_TABLE, ConfigError, readConfig } from './config.ts';

const problemOf = (environment: Record<string, string>): string => {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('the configuration was accepted');
};

describe('the configuration', () => {
  it('has the documented defaults when nothing is set', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 4000,
      publicUrl: null,
      dataDir: resolve('data'),
      role: 'all',
      store: { kind: 'sqlite', path: resolve('data/crawlgate.db') },
      storeWaitSeconds: 30,
      mongodbPoolSize: 50,
      mongodbConnectTimeoutMs: 5_000,
      mongodbSelectionTimeoutMs: 5_000,
      mongodbAnswerTimeoutMs: 10_000,
      mongodbRetryReads: true,
      busUrl: null,
      apiKey: null,
      allowNetworks: [],
      crawlConcurrency: 8,
      crawlRatePerHost: 10,
      workerCrawls: 4,
      leaseSeconds: 30,
      monthlyUrlQuota: 100_000,
      readLimitPerMinute: 600,
      drainSeconds: 3,
      graphqlIntrospection: true,
      retentionDays: 90,
      corsOrigins: [],
      logLevel: 'info',
    });
  });

  it('takes a variable that is set to nothing as absent', () => {
    expect(readConfig({ PORT: '', CRAWLGATE_API_KEY: '' })).toEqual(readConfig({}));
  });

  it('reads what is set', () => {
    const config = readConfig({
      HOST: '[::1]',
      PORT: '0',
      PUBLIC_URL: 'https://crawl.example/base/',
      DATA_DIR: '/var/lib/crawlgate',
      STORE_URL: 'sqlite:/srv/a:b.db',
      CRAWL_ALLOW_NETWORKS: '127.0.0.0/8, ::1',
      CRAWL_RATE_PER_HOST: '0.5',
      GRAPHQL_INTROSPECTION: 'false',
      CORS_ORIGINS: 'https://app.example, http://localhost:3000',
      LOG_LEVEL: 'warn',
    });
    expect(config).toMatchObject({
      host: '::1',
      port: 0,
      publicUrl: 'https://crawl.example/base',
      dataDir: '/var/lib/crawlgate',
      store: { kind: 'sqlite', path: '/srv/a:b.db' },
      allowNetworks: ['127.0.0.0/8', '::1'],
      crawlRatePerHost: 0.5,
      graphqlIntrospection: false,
      corsOrigins: ['https://app.example', 'http://localhost:3000'],
      logLevel: 'warn',
    });
  });

  it('keeps the database in DATA_DIR unless STORE_URL says where', () => {
    expect(readConfig({ DATA_DIR: '/d' }).store).toEqual({ kind: 'sqlite', path: '/d/crawlgate.db' });
  });

  it.each(['mongodb://localhost', 'mongodb://me:p%40ss@a:1,b:2/crawls?replicaSet=rs0&tls=true', 'mongodb+srv://db.example/crawls'])(
    'takes %s as the address of MongoDB',
    (url) => expect(readConfig({ STORE_URL: url }).store).toEqual({ kind: 'mongodb', url }),
  );

  it.each(['redis://localhost', 'redis://me:pw@redis:6380/3', 'rediss://redis.example/', 'redis://[::1]:6379'])(
    'takes %s as the address of Redis',
    (url) => expect(readConfig({ BUS_URL: url }).busUrl).toBe(url),
  );

  it.each([
    ['HOST', '127.0.0.1:4000', 'is not a host name or IP address'],
    ['HOST', 'my host', 'is not a host name or IP address'],
    ['HOST', 'a/b', 'is not a host name or IP address'],
    ['PORT', '65536', 'is too large'],
    ['PORT', '-1', 'is too small'],
    ['PORT', '4000x', 'is not a whole number'],
    ['PORT', '1e3', 'is not a whole number'],
    ['PUBLIC_URL', 'crawl.example', 'is not an absolute http or https URL'],
    ['PUBLIC_URL', 'ftp://crawl.example', 'is not an absolute http or https URL'],
    ['PUBLIC_URL', 'https://me:pw@crawl.example', 'contains credentials'],
    ['PUBLIC_URL', 'https://crawl.example/?a', 'contains a query or a fragment'],
    ['DATA_DIR', 'a\0b', 'is not a path'],
    ['ROLE', 'leader', 'is not a role'],
    ['STORE_URL', 'postgres://db/crawlgate', 'has the scheme "postgres", which is not supported'],
    ['STORE_URL', 'mongodb:db', 'is not a MongoDB connection string'],
    ['STORE_URL', 'mongodb://', 'is not a MongoDB connection string'],
    ['STORE_URL', 'mongodb://me:p@ss@db/crawlgate', 'is not a MongoDB connection string'],
    ['STORE_URL', 'mongodb://db,,other/crawlgate', 'is not a MongoDB connection string'],
    ['STORE_WAIT_SECONDS', '-1', 'is too small'],
    ['MONGODB_POOL_SIZE', '0', 'is too small'],
    ['MONGODB_CONNECT_TIMEOUT_MS', '5s', 'is not a whole number'],
    ['MONGODB_SELECTION_TIMEOUT_MS', '1', 'is too small'],
    ['MONGODB_ANSWER_TIMEOUT_MS', '600001', 'is too large'],
    ['MONGODB_RETRY_READS', '1', 'is neither true nor false'],
    ['STORE_URL', './data.db', 'has no scheme'],
    ['STORE_URL', 'sqlite:', 'names no file'],
    ['STORE_URL', 'sqlite::memory:', 'is not the path of a file'],
    ['BUS_URL', 'localhost:6379', 'is not a redis or rediss URL'],
    ['BUS_URL', 'amqp://localhost', 'is not a redis or rediss URL'],
    ['BUS_URL', 'redis://', 'names no host'],
    ['BUS_URL', 'redis://localhost/zero', 'has a path that is not the number of a database'],
    ['BUS_URL', 'redis://localhost?family=6', 'contains a query'],
    ['BUS_URL', 'redis://:100%@localhost', 'has credentials that are not percent-encoded'],
    ['CRAWLGATE_API_KEY', 'x'.repeat(23), 'has 23 characters'],
    ['CRAWLGATE_API_KEY', 'x'.repeat(257), 'has 257 characters'],
    ['CRAWLGATE_API_KEY', `${'x'.repeat(30)} y`, 'has a character that is not printable ASCII, or a space'],
    ['CRAWL_ALLOW_NETWORKS', '10.0.0.0/8,nowhere', 'names "nowhere", which is neither an address nor a network in CIDR form'],
    ['CRAWL_ALLOW_NETWORKS', '10.0.0.0/33', 'names "10.0.0.0/33", which is neither an address nor a network in CIDR form'],
    ['CRAWL_CONCURRENCY', '0', 'is too small'],
    ['CRAWL_RATE_PER_HOST', '0', 'is too small'],
    ['CRAWL_RATE_PER_HOST', 'fast', 'is not a number'],
    ['WORKER_CRAWLS', '1.5', 'is not a whole number'],
    ['LEASE_SECONDS', '0', 'is too small'],
    ['MONTHLY_URL_QUOTA', '-5', 'is too small'],
    ['READ_LIMIT_PER_MINUTE', 'off', 'is not a whole number'],
    ['GRAPHQL_INTROSPECTION', 'off', 'is neither true nor false'],
    ['RETENTION_DAYS', '0', 'is too small'],
    ['CORS_ORIGINS', 'app.example', 'names "app.example", which is no http or https origin'],
    ['CORS_ORIGINS', 'https://app.example/', 'names "https://app.example/", whose origin is https://app.example'],
    ['CORS_ORIGINS', 'https://app.example,*', 'names "*", which is no http or https origin'],
    ['LOG_LEVEL', 'loud', 'is not a level'],
  ])('refuses %s=%j in one line that names it and says what is accepted', (name, value, problem) => {
    const message = problemOf({ [name]: value });
    expect(message).toMatch(new RegExp(`^${name} `));
    expect(message).toContain(problem);
    expect(message).toContain(`; accepted: ${CONFIG_TABLE.find((row) => row.name === name)?.accepts}`);
    expect(message).not.toContain('\n');
  });

  it('never shows a wrong secret', () => {
    expect(problemOf({ CRAWLGATE_API_KEY: 'hunter2' })).not.toContain('hunter2');
    expect(problemOf({ PUBLIC_URL: 'https://me:hunter2@crawl.example' })).not.toContain('hunter2');
    expect(problemOf({ STORE_URL: 'mongodb://me:hunter2@db:27017@/x' })).not.toContain('hunter2');
    expect(problemOf({ BUS_URL: 'redis://me:hunter2@redis:6379/x' })).not.toContain('hunter2');
  });
});
