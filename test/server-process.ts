import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Usage } from '#domain/quota.ts';
import { urlOf } from '../scripts/cluster/cluster.ts';
import { type Ended, type Environment, type Output, type Spawned, spawnProcess } from '../scripts/cluster/spawn.ts';

export type { Environment };

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** What the command of a test sees: nothing of the environment in which the tests run but what Node itself needs. */
export const environmentOf = (environment: Environment): Environment => ({ PATH: process.env.PATH ?? '', ...environment });

type TempDir = { readonly path: string; [Symbol.dispose](): void };

/** An empty directory that is removed with `using`. */
export function tempDir(): TempDir {
  const path = mkdtempSync(join(tmpdir(), 'crawlgate-test-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A directory for DATA_DIR that does not exist yet, inside one that is removed with `using`. */
export function tempDataDir(): TempDir {
  const parent = tempDir();
  return { ...parent, path: join(parent.path, 'data') };
}

/** Starts a command of the CLI. */
export const spawnCli = (words: readonly string[], environment: Environment = {}): Spawned =>
  spawnProcess([process.execPath, MAIN, ...words], { environment: environmentOf(environment) });

/** Runs a command of the CLI to its end. */
export async function runCli(words: readonly string[], environment: Environment = {}): Promise<Output & Ended> {
  const { ended, output } = spawnCli(words, environment);
  return { ...(await ended), ...output };
}

export type ServerProcess = {
  readonly url: string;
  readonly output: Output;
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
  [Symbol.asyncDispose](): Promise<void>;
};

/** Starts `serve` on a free port and waits until it says that it is ready; rejects with what it said when it ends before. */
export async function startServer(dataDir: string, environment: Environment = {}, command: readonly string[] = []): Promise<ServerProcess> {
  const env = environmentOf({ PORT: '0', CRAWL_ALLOW_NETWORKS: '127.0.0.0/8', DATA_DIR: dataDir, ...environment });
  const spawned = spawnProcess(command.length > 0 ? command : [process.execPath, MAIN, 'serve'], { environment: env });
  const { output, ended, kill } = spawned;
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  const url = await urlOf(spawned);
  return {
    url,
    output,
    ended,
    kill,
    async [Symbol.asyncDispose]() {
      if (!hasEnded) kill('SIGKILL');
      await ended;
    },
  };
}

/** The shell command that `startServer` starts, for what wraps it. */
export const SERVE_COMMAND = `${process.execPath} ${MAIN} serve`;

/** The secret that a first start has written. */
export const keyOf = (dataDir: string): string => readFileSync(join(dataDir, 'api-key'), 'utf8').trim();

export type CrawlDetail = {
  readonly id: string;
  readonly state: string;
  readonly urlsCrawled: number;
  readonly findingsCount: number | null;
  readonly error: string | null;
};
export type PageEntry = { readonly url: string; readonly status: string };

export type Api = {
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** Answers the body of a 200; throws for anything else. */
  get<Body>(path: string): Promise<Body>;
  /** Answers the id of the accepted crawl. */
  start(body: { readonly url: string; readonly maxUrls?: number; readonly maxDepth?: number }): Promise<string>;
  detail(id: string): Promise<CrawlDetail>;
  /** Polls until the crawl is as wanted. */
  until(id: string, wanted: (detail: CrawlDetail) => boolean): Promise<CrawlDetail>;
  /** All items of a list, over all its parts. */
  list<Item>(path: string): Promise<Item[]>;
  pages(id: string): Promise<PageEntry[]>;
  usage(): Promise<Usage>;
  /** Asks until the key is refused; rejects when it is accepted on a request that was sent `ms` or more from now. */
  refusedWithin(ms: number): Promise<void>;
  /** The usage, once nothing is reserved: what a crawl has not used is given back a moment after its end. */
  settled(): Promise<Usage>;
};

const POLL_MS = 15;
const pollLater = (): Promise<void> => delay(POLL_MS);

export function apiOf(url: string, key: string): Api {
  const call: Api['fetch'] = (path, init = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...init.headers } });
  const read = async <Body>(response: Response, status: number): Promise<Body> => {
    if (response.status !== status) throw new Error(`${response.status}: ${await response.text()}`);
    return (await response.json()) as Body;
  };
  const api: Api = {
    fetch: call,
    get: async <Body>(path: string) => read<Body>(await call(path), 200),
    async start(body) {
      return (await read<{ id: string }>(await call('/v1/crawls', { method: 'POST', body: JSON.stringify(body) }), 202)).id;
    },
    detail: (id) => api.get(`/v1/crawls/${id}`),
    async until(id, wanted) {
      for (;;) {
        const detail = await api.detail(id);
        if (wanted(detail)) return detail;
        await pollLater();
      }
    },
    async list<Item>(path: string) {
      const items: Item[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const part: { data: Item[]; nextCursor: string | null } = await api.get(`${path}?limit=200${query}`);
        items.push(...part.data);
        cursor = part.nextCursor;
      }
      return items;
    },
    pages: (id) => api.list(`/v1/crawls/${id}/pages`),
    usage: () => api.get('/v1/usage'),
    async refusedWithin(ms) {
      const since = performance.now();
      for (;;) {
        const sentAfter = performance.now() - since;
        const { status } = await call('/v1/ping');
        if (status === 401) return;
        if (status !== 200 || sentAfter >= ms) throw new Error(`answered ${status} after ${sentAfter} ms`);
        await pollLater(); // a key has 600 requests a minute, and a fast machine makes them in less than a second
      }
    },
    async settled() {
      for (;;) {
        const usage = await api.usage();
        if (usage.reserved === 0) return usage;
        await pollLater();
      }
    },
  };
  return api;
}

export const isFinal = ({ state }: CrawlDetail): boolean => state !== 'running';
