import type { Ended, Environment, Output, Spawned } from './spawn.ts';

/** A process of the cluster by its name; it can end, and be started again where it was. */
export type Member = {
  readonly name: string;
  /** Where it listens; the same at each start. */
  readonly url: string;
  readonly pid: number;
  /** Of the process that runs, or ran last. */
  readonly output: Output;
  readonly ended: Promise<Ended>;
  /** Starts a process where none runs, with changes to its environment; resolves when it is ready, rejects when it ends before. */
  start(changes?: Environment): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Ends it by `signal` and waits for that. */
  end(signal: NodeJS.Signals): Promise<Ended>;
};

export type MemberOptions = {
  readonly name: string;
  /** `port` is the one that it had before; 0 at first. */
  readonly spawn: (port: number, changes: Environment) => Spawned;
  /** Resolves when it is ready, to where it listens. */
  readonly ready: (spawned: Spawned) => Promise<string>;
  /** Called when it has ended and nobody had asked it to by `end`; not before it was ready. */
  readonly onEnded?: ((member: Member, ended: Ended) => void) | undefined;
};

/** Starts a process and answers when it is ready. One that ends before has left nothing behind. */
export async function startMember({ name, spawn, ready, onEnded }: MemberOptions): Promise<Member> {
  let url = '';
  let asked = false;
  let present: Spawned;

  async function start(changes: Environment = {}): Promise<void> {
    asked = false;
    const started = spawn(url === '' ? 0 : Number(new URL(url).port), changes);
    present = started;
    url = await ready(started);
    void started.ended.then((ended) => {
      if (!asked) onEnded?.(member, ended);
    });
  }

  const member: Member = {
    name,
    get url() {
      return url;
    },
    get pid() {
      return present.pid;
    },
    get output() {
      return present.output;
    },
    get ended() {
      return present.ended;
    },
    start,
    signal: (signal) => present.kill(signal),
    end(signal) {
      asked = true;
      present.kill(signal);
      return present.ended;
    },
  };
  await start();
  return member;
}
