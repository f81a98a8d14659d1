import { runCommand } from './cli/program.ts';
import { readConfig } from './config/config.ts';

/**
 * Signals of one cause come more than once: on Ctrl-C a terminal sends one to the whole group, and npm passes its own on.
 * What follows the first one this soon, in milliseconds, is no second one.
 */
const ECHO_MS = 500;

function listenForSignals(): { stop: AbortSignal; cut: AbortSignal } {
  const stop = new AbortController();
  const cut = new AbortController();
  let firstAt = 0;
  const onSignal = (): void => {
    if (!stop.signal.aborted) {
      firstAt = performance.now();
      stop.abort();
    } else if (performance.now() - firstAt > ECHO_MS) {
      cut.abort();
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  return { stop: stop.signal, cut: cut.signal };
}

// What is written holds keys' hashes and customers' pages: it is for this user alone.
process.umask(0o077);

// A reader that has gone, as in `crawlgate orgs list | head -1`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

const code = await runCommand(process.argv.slice(2), {
  config: () => readConfig(),
  listenForSignals,
  out: (text) => void process.stdout.write(text),
  err: process.stderr,
  errTerminal: process.stderr.isTTY === true ? process.stderr : null,
  isTerminal: process.stdout.isTTY === true,
});
// Whatever a stop that took too long has left behind must not keep the process; what was written leaves first.
await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))));
process.exit(code);
