import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Usage } from '#domain/quota.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const READY = /^.*\bready\b.*?(http:\/\/\S+)$/m;

export type Environment = Readonly<Record<string, string>>;
export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

/** What the command of a test sees: nothing of the environment in which the tests run but what Node itself needs. */
const environmentOf = (environment: Environment): Environment => ({ PATH: process.env.PATH ?? '', ...environment });

/** A directory for DATA_DIR that does not exist yet, inside one that is removed with `using`. */
export function tempDataDir(): { readonly path: string; [Symbol.dispose](): void } {
  const parent = mkdtempSync(join(tmpdir(), 'crawlgate-test-'));
  return { path: join(parent, 'data'), [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }) };
}

type Output = { stdout: string; stderr: string };

function collect(child: ChildProcess): Output {
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return output;
}

/** Resolves when the process has ended and all that it wrote was read. */
const endOf = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });

/** A command of the CLI that has been started. */
export type CliProcess = {
  readonly output: Output;
  readonly ended: Promise<Ended>;
  /** Resolves when `text` stands in its log. */
  says(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
};

export function spawnCli(words: readonly string[], environment: Environment = {}): CliProcess {
  const child = spawn(process.execPath, [MAIN, ...words], { env: environmentOf(environment), stdio: ['ignore', 'pipe', 'pipe'] });
  const output = collect(child);
  const says = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (output.stderr.includes(text)) resolve();
      };
      child.stderr.on('data', look);
      child.once('close', () => reject(new Error(`ended before it said ${text}: ${output.stderr}`)));
      look();
    });
  return { output, ended: endOf(child), says, kill: (signal) => void child.kill(signal) };
}

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
  const [file = process.execPath, ...words] = command.length > 0 ? command : [process.execPath, MAIN, 'serve'];
  const env = environmentOf({ PORT: '0', CRAWL_ALLOW_NETWORKS: '127.0.0.0/8', DATA_DIR: dataDir, ...environment });
  const child = spawn(file, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = collect(child);
  const ended = endOf(child);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const [, found] = READY.exec(output.stdout) ?? [];
      if (found !== undefined && output.stdout.endsWith('\n')) resolve(found);
    });
    ended.then(({ code }) => reject(new Error(`serve ended with ${code} before it was ready: ${output.stdout}${output.stderr}`)), reject);
  });
  return {
    url,
    output,
    ended,
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
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
  /** Every page of every list page. */
  pages(id: string): Promise<PageEntry[]>;
  usage(): Promise<Usage>;
};

const POLL_MS = 15;

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
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
    async pages(id) {
      const pages: PageEntry[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const list: { data: PageEntry[]; nextCursor: string | null } = await api.get(`/v1/crawls/${id}/pages?limit=200${query}`);
        pages.push(...list.data);
        cursor = list.nextCursor;
      }
      return pages;
    },
    usage: () => api.get('/v1/usage'),
  };
  return api;
}

export const isFinal = ({ state }: CrawlDetail): boolean => state !== 'running';
