import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

export type Running = {
  readonly pid: number;
  /** The text that `ready` matched. */
  readonly readyLine: string;
  /** SIGTERM, SIGKILL after ten seconds; resolves when the process has ended. Memoised. */
  readonly stop: () => Promise<void>;
};

export type Memory = { readonly residentKiB: number; readonly peakKiB: number };

const STOP_MS = 10_000;
const READY_MS = 60_000;

function stopper(child: ChildProcess): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  return () => {
    stopped ??= (async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    })();
    return stopped;
  };
}

/** Starts this Node with `args` and waits for a line on stdout that matches `ready`. Its stderr goes to `errors`, a file. */
export async function startNode(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  ready: RegExp,
  errors?: string,
): Promise<Running> {
  const file = errors === undefined ? null : await open(errors, 'a');
  const stderr = file === null ? 'inherit' : file.fd;
  const child = spawn(process.execPath, [...args], { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', stderr] });
  await file?.close();
  const stop = stopper(child);
  if (child.stdout === null) throw new TypeError('stdout was asked for');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const timer = setTimeout(() => child.kill('SIGKILL'), READY_MS);
  try {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${args.join(' ')} ended before it was ready: ${await tailOf(errors)}`);
      if (ready.test(value) && child.pid !== undefined) return { pid: child.pid, readyLine: value, stop };
    }
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function tailOf(file: string | undefined): Promise<string> {
  return file === undefined ? '' : (await readFile(file, 'utf8')).slice(-4_000);
}

/** Resident memory of a process now and at its highest, from the kernel. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN);
  return { residentKiB: field('VmRSS'), peakKiB: field('VmHWM') };
}

/** Processor time that a process has used so far, all its threads together, in seconds. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Runs a command to its end and answers its stdout; rejects with its stderr when it fails. */
export async function run(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, [...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let error = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    error += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${error}${out}`);
  return out;
}
