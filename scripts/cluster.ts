import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import type { Member } from './cluster/member.ts';
import type { Ended } from './cluster/spawn.ts';

// `npm run cluster`: 2 gateways, 2 workers and Redis as processes of this machine, on the MongoDB that STORE_URL names. A process that
// ends is started again, as compose would; one that does not come back ends the cluster.

/** Between the end of a process and its next start, in milliseconds. */
const RESTART_MS = 1_000;
/** On Ctrl-C signals come more than once: what follows the first one this soon, in milliseconds, is no second one. */
const ECHO_MS = 500;

const environment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const wordsOf = ({ code, signal }: Ended): string => (signal === null ? `with exit code ${code}` : `by ${signal}`);
const told = ({ name, url, pid }: Member): string => `cluster: ${name.padEnd(9)} ${url}  pid ${pid}`;

/** Aborted with the sentence that says why. */
const ending = new AbortController();
let cluster: Cluster | null = null;

function fail(why: string): void {
  process.exitCode = 1;
  ending.abort(why);
}

async function restart(member: Member, ended: Ended): Promise<void> {
  if (ending.signal.aborted) return;
  say(`cluster: ${member.name} ended ${wordsOf(ended)} and is started again`);
  try {
    await delay(RESTART_MS, undefined, { signal: ending.signal });
    await member.start();
    say(told(member));
  } catch {
    if (!ending.signal.aborted) fail(`${member.name} does not start again`);
  }
}

let firstAt = 0;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => {
    if (!ending.signal.aborted) firstAt = performance.now();
    else if (performance.now() - firstAt > ECHO_MS) cluster?.kill();
    ending.abort(name);
  });
}

try {
  if (!/^mongodb(\+srv)?:/.test(environment.STORE_URL ?? ''))
    throw new Error('set STORE_URL=mongodb://… to the MongoDB that all of it shares');
  cluster = await startCluster({
    environment,
    port: Number(environment.PORT ?? 4_000),
    onLine: (name, line) => say(`${name.padEnd(9)} | ${line}`),
    onEnded: (member, ended) => void restart(member, ended),
    ownGroup: true,
    signal: ending.signal,
  });
  for (const member of cluster.members) say(told(member));
  say(`cluster: ready; ${cluster.gateways.map(({ url }) => url).join(' and ')} serve the same, Ctrl-C ends it`);
  if (!ending.signal.aborted) await new Promise((resolve) => ending.signal.addEventListener('abort', resolve));
  say(`cluster: ${ending.signal.reason}: ending`);
  await cluster.stop();
  say('cluster: ended');
} catch (error) {
  if (!ending.signal.aborted) {
    process.stderr.write(`cluster: ${String(error instanceof Error ? error.message : error).replace(/\s*\n\s*/g, ' ')}\n`);
    process.exitCode = 1;
  }
}
process.exit(); // signals are listened to, but nothing is left to end
