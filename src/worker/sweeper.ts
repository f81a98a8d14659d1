import type { Bus } from '#bus/bus.ts';
import type { EventStore, Retention, RunStore } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { createLoop } from './loop.ts';
import type { Timers } from './timers.ts';

const REAP_MS = 1_000;
/** The leader renews its term with each reaping; one that has not for this long is gone. */
const TERM_MS = 1_500;
/** How far those that wait for the same term's end spread over time before they ask. */
const ELECTION_SPREAD_MS = 250;
const RELAY_MS = 1_000;
const RELAY_LIMIT = 500;
/** Between two steps of removing what is old: room for the writes of clients and crawls. */
const SWEEP_STEP_MS = 100;
/** After nothing was left to remove. */
const SWEEP_MS = 60_000;

export type SweeperDeps = {
  readonly store: Pick<RunStore, 'reapLeases'> & Pick<EventStore, 'acquireLeadership' | 'relayEvents' | 'sweep'>;
  readonly bus: Pick<Bus, 'publish'>;
  /** What it is known by among those on the same store; nobody else's. */
  readonly id: string;
  readonly settings: { readonly retention: Retention };
  readonly timers: Timers;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
};

export type Sweeper = {
  start(): void;
  /** Resolves when the steps under way have ended. Memoised. */
  stop(): Promise<void>;
};

/**
 * What has to be done for the crawls of any worker: takes away expired leases, brings events to the log, removes what is older
 * than the retention. One process does it for all: the leader, which is elected anew when it no longer reaps. Two that both do it,
 * because one was paused in the midst of it, do no harm.
 */
export function createSweeper({ store, bus, id, settings, timers, random, log }: SweeperDeps): Sweeper {
  let leadsUntil = Number.NEGATIVE_INFINITY;
  const leads = (): boolean => timers.now() < leadsUntil;

  async function reap(): Promise<number> {
    const termEndsInMs = await store.acquireLeadership(id, TERM_MS);
    if (termEndsInMs > 0) return termEndsInMs + random() * ELECTION_SPREAD_MS;
    const isElected = !leads();
    leadsUntil = timers.now() + TERM_MS; // later than the store counts: one that is slow must have its events relayed, too
    if (isElected) for (const loop of asLeader) loop.wake();
    for (const snapshot of await store.reapLeases()) {
      log.error({ crawlId: snapshot.id }, 'crawl given up: its workers were lost time and again');
      await bus.publish(snapshot);
    }
    return REAP_MS;
  }
  const relay = async () => ((await store.relayEvents(RELAY_LIMIT)) < RELAY_LIMIT ? RELAY_MS : 0);
  const sweep = async () => ((await store.sweep(settings.retention)) > 0 ? SWEEP_STEP_MS : SWEEP_MS);
  const whileLeading = (step: () => Promise<number>) => async () => (leads() ? step() : SWEEP_MS);

  const asLeader = [
    createLoop({ name: 'relay events', step: whileLeading(relay), timers, random, log }),
    createLoop({ name: 'sweep', step: whileLeading(sweep), timers, random, log }),
  ];
  const loops = [createLoop({ name: 'reap leases', step: reap, timers, random, log }), ...asLeader];
  let stopped: Promise<void> | null = null;
  const stop = async () => {
    await Promise.all(loops.map((loop) => loop.stop()));
  };
  return {
    start() {
      for (const loop of loops) loop.start();
    },
    stop: () => (stopped ??= stop()),
  };
}
