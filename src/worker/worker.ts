import type { LeaseToken } from '#domain/ids.ts';
import type { RunStore } from '#store/store.ts';
import { createLoop } from './loop.ts';
import { type Run, type RunDeps, startRun } from './run.ts';
import { pause } from './timers.ts';

/** A queued crawl is looked for at least this often, in milliseconds; the bus only makes it sooner. */
const POLL_MS = 1_000;
/** How often within a turn a full worker asks whether one of its crawls should give way. */
const LOOKS_A_TURN = 6;

export type WorkerSettings = {
  /** Crawls at once. */
  readonly crawls: number;
  readonly leaseMs: number;
  /**
   * How long a crawl is fetched at least before it may have to give way, in milliseconds: when this worker is full, and an organization
   * waits that has at least two leases fewer.
   */
  readonly turnMs: number;
  /**
   * How far workers that hear of the same queued crawl spread over time before they ask for it, in milliseconds: one of them gets it, and
   * those after it find nothing instead of contending. 0: none, where there is one worker.
   */
  readonly wakeSpreadMs: number;
  /** The longest that `stop` waits for running crawls, in milliseconds. */
  readonly stopMs: number;
};

export type WorkerDeps = Omit<RunDeps, 'store' | 'leaseMs'> & {
  readonly store: RunDeps['store'] & Pick<RunStore, 'claim' | 'whoYields'>;
  readonly newToken: () => LeaseToken;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly settings: WorkerSettings;
};

export type Worker = {
  start(): void;
  /** Crawls that it runs now. */
  running(): number;
  /**
   * Claims nothing more, lets running crawls store what they have fetched, and gives them back. Resolves at the latest after
   * `stopMs`: the lease of a run that has not ended by then expires, and another worker resumes it. Memoised.
   */
  stop(): Promise<void>;
};

/** Claims crawls, as many at once as it is set to, and runs each to its end. An unavailable store is waited for. */
export function createWorker({ settings, newToken, ...deps }: WorkerDeps): Worker {
  const { store, bus, timers, random, log } = deps;
  const runs = new Set<Run>();
  let token = newToken();
  /** When a claim was first asked for under `token`; null when none is in doubt. */
  let askedAt: number | null = null;
  let stopping = false;
  let stopped: Promise<void> | null = null;
  let listening: Promise<() => void> | null = null;
  let cancelWake: (() => void) | null = null;
  let lookAt = Number.NEGATIVE_INFINITY;

  function renewToken(): void {
    token = newToken();
    askedAt = null;
  }

  /** Gives a crawl back for an organization that waits: the next claim, here or elsewhere, is that organization's. */
  async function giveWay(): Promise<void> {
    const now = timers.now();
    if (now < lookAt) return;
    lookAt = now + settings.turnMs / LOOKS_A_TURN;
    const served = [...runs].filter((run) => run.isFetching() && now - run.since >= settings.turnMs);
    if (served.length === 0) return;
    const organizationId = await store.whoYields([...new Set(served.map((run) => run.organizationId))]);
    served.find((run) => run.organizationId === organizationId)?.stop(new Error('Another organization waits for its turn.'));
  }

  async function claimOne(): Promise<number> {
    if (runs.size >= settings.crawls) {
      await giveWay();
      return POLL_MS;
    }
    // a failed call may have claimed a crawl: repeated under its token it answers that one, with what is left of its lease
    if (askedAt !== null && timers.now() - askedAt > settings.leaseMs / 2) renewToken();
    const leasedAt = askedAt ?? timers.now();
    askedAt = leasedAt;
    const claim = await store.claim(token, settings.leaseMs);
    renewToken();
    if (claim === null) return POLL_MS;
    if (stopping) {
      await store.release(claim.snapshot.id, claim.token);
      return POLL_MS;
    }
    const run = startRun({ ...deps, leaseMs: settings.leaseMs }, claim, leasedAt);
    runs.add(run);
    void run.done.then(() => {
      runs.delete(run);
      loop.wake();
    });
    return 0;
  }

  const loop = createLoop({ name: 'claim', step: claimOne, timers, random, log });

  function hearOfQueued(): void {
    if (settings.wakeSpreadMs === 0) {
      loop.wake();
      return;
    }
    cancelWake ??= timers.after(random() * settings.wakeSpreadMs, () => {
      cancelWake = null;
      loop.wake();
    });
  }

  async function endRuns(reason: Error): Promise<void> {
    stopping = true;
    cancelWake?.();
    for (const run of runs) run.stop(reason);
    await loop.stop();
    await Promise.all([...runs].map(({ done }) => done));
  }

  async function stop(): Promise<void> {
    listening?.then((stopListening) => stopListening()).catch(() => {});
    const inTime = new AbortController();
    const ended = endRuns(new Error('The worker stops.')).finally(() => inTime.abort());
    await Promise.race([ended, pause(timers, settings.stopMs, inTime.signal)]);
    for (const run of runs) run.abandon();
    if (runs.size > 0) log.error({ crawls: runs.size }, 'crawls did not stop in time: their leases will expire');
  }

  return {
    start() {
      if (listening !== null || stopped !== null) return;
      listening = bus.subscribe({ kind: 'queued' }, hearOfQueued);
      listening.catch((error: unknown) => log.warn({ err: error }, 'no listening for new crawls: they are polled for'));
      loop.start();
    },
    running: () => runs.size,
    stop: () => (stopped ??= stop()),
  };
}
