import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './process.ts';
import { WrongWork } from './report.ts';

export type Load = {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 2xx and 3xx. */
  readonly refused: number;
};

export type LoadOptions = {
  readonly connections: number;
  readonly seconds: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A Lua script; its `done` may print, which `Load` does not read. */
  readonly script?: string;
};

const UNITS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000, m: 60_000 };
const inMs = (number: string, unit: string): number => Number(number) * (UNITS[unit] ?? Number.NaN);

/** Reads what wrk prints with `--latency`. Throws `WrongWork` when the sockets had errors. */
function readWrk(text: string): Load {
  const percentile = (p: string): number => {
    const found = new RegExp(`^\\s+${p}%\\s+([\\d.]+)(us|ms|s|m) *$`, 'm').exec(text);
    if (found === null) throw new Error(`wrk printed no ${p} % latency:\n${text}`);
    return inMs(found[1] ?? '', found[2] ?? '');
  };
  const socketErrors = /Socket errors: (connect \d+, read \d+, write \d+)/.exec(text)?.[1];
  if (socketErrors !== undefined && /[1-9]/.test(socketErrors)) throw new WrongWork(`wrk met socket errors: ${socketErrors}`);
  const rate = /^Requests\/sec:\s+([\d.]+)$/m.exec(text)?.[1];
  if (rate === undefined) throw new Error(`wrk printed no rate:\n${text}`);
  return {
    requestsPerSecond: Number(rate),
    p50Ms: percentile('50'),
    p99Ms: percentile('99'),
    refused: Number(/Non-2xx or 3xx responses: (\d+)/.exec(text)?.[1] ?? 0),
  };
}

/** wrk with one thread: the machine's other cores are the server's. */
export async function wrk(address: string, { connections, seconds, headers = {}, script }: LoadOptions): Promise<Load> {
  const directory = await mkdtemp(join(tmpdir(), 'crawlgate-wrk-'));
  try {
    const args = ['--latency', '--timeout', '30s', '-t1', `-c${connections}`, `-d${seconds}s`];
    for (const [name, value] of Object.entries(headers)) args.push('-H', `${name}: ${value}`);
    if (script !== undefined) {
      const file = join(directory, 'load.lua');
      await writeFile(file, script);
      args.push('-s', file);
    }
    return readWrk(await run('wrk', [...args, address]));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
