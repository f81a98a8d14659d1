import { resolve } from 'node:path';
import { LOG_LEVELS } from '#telemetry.ts';
import { MONGODB_ROWS } from './mongodb.ts';
import {
  ROLES,
  readApiKey,
  readBoolean,
  readBusUrl,
  readHost,
  readLogLevel,
  readNetworks,
  readOrigins,
  readPath,
  readPublicUrl,
  readRate,
  readRole,
  readStoreUrl,
  type StoreLocation,
  Wrong,
  wholeNumber,
} from './values.ts';
import { type Variable, variable } from './variable.ts';

export { ROLES, type Role, type StoreLocation } from './values.ts';

/** A variable with a value that cannot be used. The message is one line: the variable, what is wrong, and what is accepted. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** The table: everything that can be set, in the order in which it is documented. */
const TABLE = {
  host: variable({
    name: 'HOST',
    accepts: 'a host name or an IP address, without port',
    default: '127.0.0.1',
    meaning: 'The address that is listened on. `0.0.0.0` or `::` opens the service to the network.',
    read: readHost,
  }),
  port: variable({
    name: 'PORT',
    ...wholeNumber(0, 65_535),
    default: '4000',
    meaning: 'The port that is listened on; 0 takes any free one. The line on stdout tells which.',
  }),
  publicUrl: variable<string | null>({
    name: 'PUBLIC_URL',
    accepts: 'an absolute http or https URL without credentials, query and fragment',
    default: '`http://HOST:PORT`',
    meaning:
      'The base address under which clients reach the service; stands in problem types, in the OpenAPI document and in the user agent.',
    secret: true,
    read: readPublicUrl,
    unset: null,
  }),
  dataDir: variable({
    name: 'DATA_DIR',
    accepts: 'the path of a directory',
    default: './data',
    meaning: 'Where the database, its lock and the first API key are kept. Made with mode 0700 when absent.',
    read: readPath,
  }),
  role: variable({
    name: 'ROLE',
    accepts: `one of ${ROLES.join(', ')}`,
    default: 'all',
    meaning:
      'The parts that run in this process, unless `--role` says so: `gateway` answers clients, `worker` runs crawls, `all` does both. `gateway` and `worker` need MongoDB and Redis.',
    read: readRole,
  }),
  store: variable<StoreLocation | null>({
    name: 'STORE_URL',
    accepts: 'sqlite:<path>, mongodb://<hosts>/<database> or mongodb+srv://<host>/<database>',
    default: '`sqlite:DATA_DIR/crawlgate.db`',
    meaning:
      'The store. SQLite keeps everything in one file, and serves one process. MongoDB serves any number of them; its database is `crawlgate` unless the URL names one.',
    secret: true,
    read: readStoreUrl,
    unset: null,
  }),
  ...MONGODB_ROWS,
  busUrl: variable<string | null>({
    name: 'BUS_URL',
    accepts: 'redis://<host>:<port>/<number of the database> or rediss://',
    default: 'none',
    meaning:
      'Redis, over which processes tell each other of updates and count requests. MongoDB needs it in every role; it must not be set with SQLite.',
    secret: true,
    read: readBusUrl,
    unset: null,
  }),
  apiKey: variable<string | null>({
    name: 'CRAWLGATE_API_KEY',
    accepts: '24 to 256 printable ASCII characters without space',
    default: 'a random one, told at the first start',
    meaning: "The secret of the default organization's first API key. A later start with another value replaces the secret.",
    secret: true,
    read: readApiKey,
    unset: null,
  }),
  allowNetworks: variable({
    name: 'CRAWL_ALLOW_NETWORKS',
    accepts: 'addresses, or networks in CIDR form, separated by commas, such as 127.0.0.1,fd00::/8',
    default: 'none',
    meaning: 'Non-public networks that may be crawled all the same. There is no rate limit inside them.',
    read: readNetworks,
    unset: [],
  }),
  crawlConcurrency: variable({
    name: 'CRAWL_CONCURRENCY',
    ...wholeNumber(1, 256),
    default: '8',
    unit: 'requests',
    meaning: 'Requests in flight at once to one origin, over all crawls of it.',
  }),
  crawlRatePerHost: variable({
    name: 'CRAWL_RATE_PER_HOST',
    accepts: 'a number from 0.01 to 10000',
    default: '10',
    unit: 'requests a second',
    meaning: 'Requests to one origin, over all crawls of it.',
    read: readRate,
  }),
  workerCrawls: variable({
    name: 'WORKER_CRAWLS',
    ...wholeNumber(1, 256),
    default: '4',
    unit: 'crawls',
    meaning: 'Crawls that a worker runs at once.',
  }),
  leaseSeconds: variable({
    name: 'LEASE_SECONDS',
    ...wholeNumber(1, 3_600),
    default: '30',
    unit: 'seconds',
    meaning: 'After this long without a sign of life of its worker, a crawl goes to another one.',
  }),
  monthlyUrlQuota: variable({
    name: 'MONTHLY_URL_QUOTA',
    ...wholeNumber(0, 1_000_000_000),
    default: '100000',
    unit: 'pages a month',
    meaning: 'The quota that new organizations start with. `crawlgate orgs set-quota` changes it for one.',
  }),
  readLimitPerMinute: variable({
    name: 'READ_LIMIT_PER_MINUTE',
    ...wholeNumber(0, 1_000_000),
    default: '600',
    unit: 'requests a minute',
    meaning: 'Requests of one key other than starts of crawls; 0 turns the limit off.',
  }),
  drainSeconds: variable({
    name: 'DRAIN_SECONDS',
    ...wholeNumber(0, 4),
    default: '3',
    unit: 'seconds',
    meaning:
      'How long a gateway that is to stop says so at `/readyz`, and still answers, before it ends its connections. Longer than the balancer takes to notice.',
  }),
  graphqlIntrospection: variable({
    name: 'GRAPHQL_INTROSPECTION',
    accepts: 'true or false',
    default: 'true',
    meaning: 'Whether GraphQL tells its schema to whoever has an API key; GraphiQL and code generators ask for it.',
    read: readBoolean,
  }),
  retentionDays: variable({
    name: 'RETENTION_DAYS',
    ...wholeNumber(1, 36_500),
    default: '90',
    unit: 'days',
    meaning: 'How long ended crawls, with their pages and findings, and events are kept.',
  }),
  corsOrigins: variable<readonly string[]>({
    name: 'CORS_ORIGINS',
    accepts: '* or origins such as https://app.example, separated by commas',
    default: 'none',
    meaning: 'The origins whose pages may call the API from a browser; `*` for all. Without any, browsers keep other origins out.',
    read: readOrigins,
    unset: [],
  }),
  logLevel: variable({
    name: 'LOG_LEVEL',
    accepts: `one of ${LOG_LEVELS.join(', ')}`,
    default: 'info',
    meaning: 'The least severe lines that are logged, as JSON on stderr.',
    read: readLogLevel,
  }),
} as const;

type Values = { readonly [Key in keyof typeof TABLE]: ReturnType<(typeof TABLE)[Key]['read']> };
/** Plain, so that it can be given to a thread. */
export type Config = Values & { readonly store: StoreLocation };

/** The table's rows, for the docs. */
export const CONFIG_TABLE: readonly Omit<Variable<unknown>, 'read' | 'unset'>[] = Object.values(TABLE);

function readValue<Value>(row: Variable<Value>, text: string | undefined): Value {
  // A variable that is set to nothing is absent: that is how compose files leave one out.
  const given = text === undefined || text === '' ? null : text;
  if (given === null && 'unset' in row) return row.unset as Value;
  try {
    return row.read(given ?? row.default);
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    const shown = row.secret ? '' : ` ${JSON.stringify((given ?? '').slice(0, 80))}`;
    throw new ConfigError(`${row.name}${shown} ${error.message}; accepted: ${row.accepts}`);
  }
}

/** Reads every variable. Throws a `ConfigError` for the first wrong one. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const entries = Object.entries(TABLE).map(([key, row]) => [key, readValue(row as Variable<unknown>, environment[row.name])]);
  const values = Object.fromEntries(entries) as Values;
  return { ...values, store: values.store ?? { kind: 'sqlite', path: resolve(values.dataDir, 'crawlgate.db') } };
}

/**
 * Sets how many threads the process has for what cannot wait in the event loop, unless the environment says so. Has no effect once one of
 * them was needed.
 */
export function setThreadPool(size: number): void {
  process.env.UV_THREADPOOL_SIZE ??= String(size);
}
