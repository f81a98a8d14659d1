import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { cpuSecondsOf, type Memory, memoryOf, startNode } from './process.ts';
import { WrongWork } from './report.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** crawlgate as a user runs it: a process of its own, all roles, the embedded store. */
export type Service = {
  readonly address: string;
  readonly key: string;
  readonly databaseFile: string;
  /** Calls the API with the first key; rejects with `WrongWork` when the status is not `status`. */
  readonly call: <T>(method: 'GET' | 'POST', path: string, status: number, body?: unknown) => Promise<T>;
  readonly memory: () => Promise<Memory>;
  readonly cpuSeconds: () => Promise<number>;
  /** Resolves when the process has come to rest: its threads have loaded what they need. */
  readonly rest: () => Promise<void>;
};

const REST_MS = 500;
/** Processor time in `REST_MS` that timers at rest stay below. */
const REST_CPU_SECONDS = 0.03;

export type ServiceOptions = {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node itself, such as `--cpu-prof`. */
  readonly nodeArgs?: readonly string[];
};

/** Serves while `use` runs. */
export async function withService<T>(
  { dataDir, env = {}, nodeArgs = [] }: ServiceOptions,
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const key = randomBytes(24).toString('base64url');
  const process = await startNode(
    [...nodeArgs, MAIN, 'serve'],
    { HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, CRAWLGATE_API_KEY: key, READ_LIMIT_PER_MINUTE: '0', ...env },
    /http:\/\/[\w.:[\]]+:\d+/,
    join(dataDir, 'bench.log'),
  );
  const address = /http:\/\/[\w.:[\]]+:\d+/.exec(process.readyLine)?.[0] ?? '';
  async function call<T>(method: string, path: string, status: number, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const answer = await fetch(address + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await answer.text();
    if (answer.status !== status) throw new WrongWork(`${method} ${path}: expected ${status}, got ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }
  async function rest(): Promise<void> {
    let before = await cpuSecondsOf(process.pid);
    for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
      await delay(REST_MS);
      const now = await cpuSecondsOf(process.pid);
      if (now - before < REST_CPU_SECONDS) return;
      before = now;
    }
  }
  try {
    return await use({
      address,
      key,
      databaseFile: join(dataDir, 'crawlgate.db'),
      call,
      memory: () => memoryOf(process.pid),
      cpuSeconds: () => cpuSecondsOf(process.pid),
      rest,
    });
  } finally {
    await process.stop();
  }
}
