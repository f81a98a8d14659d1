import type { Config } from '#config/config.ts';

/** What a command needs of the process that it runs in. */
export type Context = {
  /** Reads the configuration; throws a `ConfigError`. */
  readonly config: () => Config;
  /** From this call on, signals do not end the process but abort `stop`, and a second one `cut`. */
  readonly listenForSignals: () => { readonly stop: AbortSignal; readonly cut: AbortSignal };
  /** Writes to stdout, which is for people (or, with `--json`, for the program that asked). */
  readonly out: (text: string) => void;
  /** Takes log lines, and the one line that says why a command failed. */
  readonly err: { write(text: string): void };
  /** Where a progress bar can be drawn: stderr, when it is a terminal. */
  readonly errTerminal: NodeJS.WritableStream | null;
  /** Whether stdout is a terminal. */
  readonly isTerminal: boolean;
};

/** A command was called in a way that cannot work. One line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
