import type { Bus } from '#bus/bus.ts';
import type { EventStore, Retention, RunStore } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { createLoop } from './loop.ts';
import type { Timers } from './timers.ts';

const REAP_MS = 1_000;
const RELAY_MS = 1_000;
const RELAY_LIMIT = 500;
/** Between two steps of removing what is old: room for the writes of clients and crawls. */
const SWEEP_STEP_MS = 100;
/** After nothing was left to remove. */
const SWEEP_MS = 60_000;

export type SweeperDeps = {
  readonly store: Pick<RunStore, 'reapLeases'> & Pick<EventStore, 'relayEvents' | 'sweep'>;
  readonly bus: Pick<Bus, 'publish'>;
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
 * than the retention. Any number of processes may do it at once.
 */
export function createSweeper({ store, bus, settings, timers, random, log }: SweeperDeps): Sweeper {
  async function reap(): Promise<number> {
    for (const snapshot of await store.reapLeases()) {
      log.error({ crawlId: snapshot.id }, 'crawl given up: its workers were lost time and again');
      await bus.publish(snapshot);
    }
    return REAP_MS;
  }
  const relay = async () => ((await store.relayEvents(RELAY_LIMIT)) < RELAY_LIMIT ? RELAY_MS : 0);
  const sweep = async () => ((await store.sweep(settings.retention)) > 0 ? SWEEP_STEP_MS : SWEEP_MS);

  const loops = [
    createLoop({ name: 'reap leases', step: reap, timers, random, log }),
    createLoop({ name: 'relay events', step: relay, timers, random, log }),
    createLoop({ name: 'sweep', step: sweep, timers, random, log }),
  ];
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
