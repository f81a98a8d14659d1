import { randomBytes } from 'node:crypto';
import { type Cluster, startCluster } from '../../scripts/cluster/cluster.ts';
import { WrongWork } from './report.ts';

/** crawlgate in roles, as real processes on a Redis of their own. */
export type RunningCluster = {
  readonly cluster: Cluster;
  readonly busUrl: string;
  readonly key: string;
  /** Calls the API of a gateway, the first one unless told otherwise; rejects with `WrongWork` when the status is not `status`. */
  readonly call: <T>(method: 'GET' | 'POST', path: string, status: number, body?: unknown, gateway?: number) => Promise<T>;
};

export type RunningClusterOptions = {
  readonly storeUrl: string;
  readonly gateways: number;
  readonly workers: number;
  readonly env?: Readonly<Record<string, string>>;
  /** What differs for one process. */
  readonly envOf?: (name: string) => Readonly<Record<string, string>>;
};

/** Serves while `use` runs. A process that ends meanwhile is wrong work. */
export async function withCluster<T>(
  { storeUrl, gateways, workers, env = {}, envOf = () => ({}) }: RunningClusterOptions,
  use: (running: RunningCluster) => Promise<T>,
): Promise<T> {
  const key = randomBytes(24).toString('base64url');
  const lost: string[] = [];
  const cluster = await startCluster({
    gateways,
    workers,
    environment: {
      PATH: process.env.PATH ?? '',
      HOST: '127.0.0.1',
      STORE_URL: storeUrl,
      CRAWLGATE_API_KEY: key,
      CRAWL_ALLOW_NETWORKS: '127.0.0.0/8',
      READ_LIMIT_PER_MINUTE: '0',
      MONTHLY_URL_QUOTA: '1000000000',
      LOG_LEVEL: 'warn',
      ...env,
    },
    environmentOf: envOf,
    onEnded: ({ name }) => lost.push(name),
  });
  try {
    const result = await use({ cluster, busUrl: cluster.redis?.url ?? '', key, call: callOf(cluster, key) });
    if (lost.length > 0) throw new WrongWork(`ended unasked: ${lost.join(', ')}`);
    return result;
  } finally {
    await cluster.stop();
  }
}

const callOf = (cluster: Cluster, key: string): RunningCluster['call'] =>
  async function call<T>(method: string, path: string, status: number, body?: unknown, gateway = 0): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const url = `${cluster.gateways[gateway]?.url}${path}`;
    const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await answer.text();
    if (answer.status !== status) throw new WrongWork(`${method} ${path}: expected ${status}, got ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  };
