import { fileURLToPath } from 'node:url';
import { freePort, freePorts } from './free-port.ts';
import { type Member, startMember } from './member.ts';
import { type Ended, type Environment, type Spawned, spawnProcess } from './spawn.ts';

/** The topology of docker-compose.yml as processes of this machine. */
export type Cluster = {
  /** Null when BUS_URL named one. */
  readonly redis: Member | null;
  readonly gateways: readonly Member[];
  readonly workers: readonly Member[];
  /** Redis, `gateway-1` …, `worker-1` …, in the order in which they were started. */
  readonly members: readonly Member[];
  /** Ends gateways, then workers, then Redis; whatever has not ended after `STOP_MS` by force. Memoised. */
  stop(): Promise<void>;
  /** Ends everything at once. */
  kill(): void;
  [Symbol.asyncDispose](): Promise<void>;
};

export type ClusterOptions = {
  /** Of each crawlgate process: STORE_URL of a MongoDB, and whatever else is set. Without BUS_URL a Redis is started. */
  readonly environment: Environment;
  /** What differs for one of them. */
  readonly environmentOf?: (name: string) => Environment;
  readonly gateways?: number;
  readonly workers?: number;
  /** The port of the first gateway; the others take those after it. 0: any free ones. */
  readonly port?: number;
  /** Called with each line that a process writes. */
  readonly onLine?: (name: string, line: string) => void;
  /** Called when a process that was ready has ended unasked. It stays down until its `start` is called. */
  readonly onEnded?: (member: Member, ended: Ended) => void;
  /** The processes get no signals of the terminal. */
  readonly ownGroup?: boolean;
  /** Gives up a start that is under way. */
  readonly signal?: AbortSignal;
};

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** As `npm start` and the image have it. */
export const SMALL_YOUNG = '--max-semi-space-size=4';
const READY = /^.*\bready\b.*?(http:\/\/\S+)\r?\n/m;
const REDIS_READY = /Ready to accept connections/;

/** A little more than the ten seconds in which each of them ends by itself, in milliseconds. */
const STOP_MS = 12_000;

/** The address that a crawlgate process tells. */
export const urlOf = async (spawned: Spawned): Promise<string> => (await spawned.says(READY))[1] ?? '';

/** Starts all of it; resolves when everything is ready. Rejects, with everything ended again, when a part does not start. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { environment, environmentOf = () => ({}), gateways: gatewayCount = 2, workers: workerCount = 2, port = 0 } = options;
  const { onLine, onEnded, ownGroup = false, signal } = options;
  const spawned = new Set<Spawned>();
  let stopped: Promise<void> | null = null;
  let killed = false;

  function spawn(name: string, command: readonly string[], env: Environment): Spawned {
    const started = spawnProcess(command, {
      environment: env,
      ownGroup,
      ...(onLine !== undefined && { onLine: (line: string) => onLine(name, line) }),
    });
    spawned.add(started);
    started.ended.then(
      () => spawned.delete(started),
      () => spawned.delete(started),
    );
    return started;
  }

  const kill = (): void => {
    killed = true;
    for (const started of spawned) {
      started.kill('SIGCONT'); // of one that was paused the end is told only then
      started.kill('SIGKILL');
    }
  };

  const tellEnd = (member: Member, ended: Ended): void => {
    if (!killed) onEnded?.(member, ended);
  };

  async function startRedis(): Promise<Member> {
    const free = await freePort();
    const command = ['redis-server', '--port', String(free), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', '/tmp'];
    return startMember({
      name: 'redis',
      spawn: () => spawn('redis', command, { PATH: environment.PATH ?? '' }),
      ready: async (started) => {
        await started.says(REDIS_READY);
        return `redis://127.0.0.1:${free}`;
      },
      onEnded: tellEnd,
    });
  }

  const startServe = (role: 'gateway' | 'worker', index: number, firstPort: number, busUrl: string): Promise<Member> => {
    const name = `${role}-${index + 1}`;
    return startMember({
      name,
      spawn: (before, changes) => {
        const own = { BUS_URL: busUrl, PORT: String(before === 0 ? firstPort : before), ...environmentOf(name), ...changes };
        return spawn(name, [process.execPath, SMALL_YOUNG, MAIN, 'serve', '--role', role], { ...environment, ...own });
      },
      ready: urlOf,
      onEnded: tellEnd,
    });
  };

  async function stopAll(groups: readonly (readonly Member[])[]): Promise<void> {
    const late = setTimeout(kill, STOP_MS);
    for (const group of groups) {
      for (const member of group) member.signal('SIGCONT'); // one that is paused would not hear the other
      await Promise.all(group.map((member) => member.end('SIGTERM')));
    }
    clearTimeout(late);
  }

  signal?.addEventListener('abort', kill);
  try {
    signal?.throwIfAborted();
    const redis = environment.BUS_URL === undefined || environment.BUS_URL === '' ? await startRedis() : null;
    const busUrl = redis?.url ?? environment.BUS_URL ?? '';
    const free = await freePorts(gatewayCount + workerCount);
    const [gateways, workers] = await Promise.all([
      Promise.all(free.slice(0, gatewayCount).map((own, index) => startServe('gateway', index, port === 0 ? own : port + index, busUrl))),
      Promise.all(free.slice(gatewayCount).map((own, index) => startServe('worker', index, own, busUrl))),
    ]);
    const first = redis === null ? [] : [redis];
    const stop = (): Promise<void> => (stopped ??= stopAll([gateways, workers, first]));
    return { redis, gateways, workers, members: [...first, ...gateways, ...workers], stop, kill, [Symbol.asyncDispose]: stop };
  } catch (error) {
    kill();
    await Promise.allSettled([...spawned].map(({ ended }) => ended));
    throw error;
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}
