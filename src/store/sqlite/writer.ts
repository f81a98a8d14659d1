import type { MessagePort } from 'node:worker_threads';
import { unavailable } from '#domain/errors.ts';
import type { WriteReply, WriteRequest } from './messages.ts';
import type { Writes } from './operations.ts';

/** A write is given up after this long, in milliseconds; by then the store thread has given up waiting for a lock. */
const WRITE_TIMEOUT_MS = 10_000;

/** Runs a write and answers after its commit. */
export type Write = <M extends keyof Writes>(method: M, ...args: Parameters<Writes[M]>) => Promise<ReturnType<Writes[M]>>;

export type Writer = {
  readonly write: Write;
  /** Resolves when no write is under way. */
  idle(): Promise<void>;
};

/** Writes by message to whatever store thread is alive. */
export type RemoteWriter = Writer & {
  /**
   * Sends writes through `port` from now on, first those that waited for one. Those under way when the port closes reject with
   * `unavailable`; later ones wait for the next port.
   */
  attach(port: MessagePort): void;
  /** Rejects what is under way, and everything later, with `unavailable`. */
  close(): void;
};

type Pending = {
  readonly request: WriteRequest;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
  sentTo: MessagePort | null;
};

const GONE = 'The store thread ended before it answered.';

export function createRemoteWriter(): RemoteWriter {
  const pending = new Map<number, Pending>();
  let current: MessagePort | null = null;
  let closed = false;
  let lastId = 0;
  let whenIdle: (() => void)[] = [];

  function take(id: number): Pending | undefined {
    const one = pending.get(id);
    if (one === undefined) return undefined;
    clearTimeout(one.timer);
    pending.delete(id);
    if (pending.size === 0) {
      for (const resolve of whenIdle) resolve();
      whenIdle = [];
    }
    return one;
  }

  function rejectSentTo(port: MessagePort | null): void {
    for (const one of [...pending.values()]) if (one.sentTo === port) take(one.request.id)?.reject(unavailable(GONE));
  }

  function send(one: Pending, port: MessagePort): void {
    one.sentTo = port;
    port.postMessage(one.request);
  }

  function answer(reply: WriteReply): void {
    const one = take(reply.id);
    if (one === undefined) return; // given up before
    if ('value' in reply) one.resolve(reply.value as never);
    else one.reject('error' in reply ? reply.error : unavailable(reply.unavailable));
  }

  return {
    write: (method, ...args) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(unavailable(GONE));
        const id = ++lastId;
        const giveUp = () => take(id)?.reject(unavailable(`The store has not answered for ${WRITE_TIMEOUT_MS / 1000} s.`));
        const one: Pending = { request: { id, method, args }, resolve, reject, timer: setTimeout(giveUp, WRITE_TIMEOUT_MS), sentTo: null };
        pending.set(id, one);
        if (current !== null) send(one, current);
      }),
    idle: () => (pending.size === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
    attach(port) {
      current = port;
      port.on('message', answer);
      // What the store thread posted before it ended is delivered before this.
      port.on('close', () => {
        if (current === port) current = null;
        rejectSentTo(port);
      });
      for (const one of pending.values()) if (one.sentTo === null) send(one, port);
    },
    close() {
      closed = true;
      for (const id of [...pending.keys()]) take(id)?.reject(unavailable(GONE));
      current?.close();
    },
  };
}
