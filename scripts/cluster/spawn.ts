import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Environment = Readonly<Record<string, string>>;
export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null };
/** What a process has written; of very much only the end is kept. */
export type Output = { stdout: string; stderr: string };

/** A process that has been started. */
export type Spawned = {
  readonly pid: number;
  readonly output: Output;
  /** Resolves when the process has ended and all that it wrote was read; rejects when it could not be started. */
  readonly ended: Promise<Ended>;
  /** Resolves to what matches in what it has written, on either stream; rejects with all that it wrote when it ends before. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
};

export type SpawnOptions = {
  /** The whole of it: nothing is inherited. */
  readonly environment: Environment;
  /** Called with each line that it writes, on either stream. */
  readonly onLine?: (line: string) => void;
  /** It gets no signals of the terminal: whoever started it ends it. */
  readonly ownGroup?: boolean;
};

/** Characters of a stream. */
const MOST_KEPT = 4_000_000;

export function spawnProcess([file = '', ...words]: readonly string[], options: SpawnOptions): Spawned {
  const { environment, onLine, ownGroup = false } = options;
  const child = spawn(file, words, { env: environment, stdio: ['ignore', 'pipe', 'pipe'], detached: ownGroup });
  const output: Output = { stdout: '', stderr: '' };
  const ended = endOf(child);
  ended.catch(() => {}); // told by whoever waits for it
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name];
    stream.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      if (output[name].length > 2 * MOST_KEPT) output[name] = output[name].slice(-MOST_KEPT);
    });
    if (onLine !== undefined) createInterface({ input: stream }).on('line', onLine);
  }

  async function says(pattern: RegExp): Promise<RegExpExecArray> {
    const said = Promise.withResolvers<RegExpExecArray>();
    const look = (): void => {
      const found = pattern.exec(output.stdout) ?? pattern.exec(output.stderr);
      if (found !== null) said.resolve(found);
    };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', look);
    look();
    const early = ended.then(({ code, signal }): never => {
      throw new Error(`${words.join(' ')} ended with ${code ?? signal}: ${output.stdout}${output.stderr}`);
    });
    try {
      return await Promise.race([said.promise, early]);
    } finally {
      for (const stream of [child.stdout, child.stderr]) stream.off('data', look);
    }
  }

  return { pid: child.pid ?? 0, output, ended, says, kill: (signal) => void child.kill(signal) };
}

const endOf = (child: ChildProcess): Promise<Ended> =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
