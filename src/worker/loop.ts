import type { Log } from '#telemetry.ts';
import { backoffMs, type Timers } from './timers.ts';

/** One step, done over and over, until it is stopped. */
export type Loop = {
  /** The first step begins at once. No-op when it runs or has been stopped. */
  start(): void;
  /** Ends the wait for the next step; while a step is under way, the next one follows at once. */
  wake(): void;
  /** No step begins any more; resolves when the one under way has ended. */
  stop(): Promise<void>;
};

export type LoopDeps = {
  /** For the log. */
  readonly name: string;
  /** Answers after how many milliseconds the next step is due; 0: at once. */
  readonly step: () => Promise<number>;
  readonly timers: Timers;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly log: Log;
};

/**
 * A step that rejects is done again after a while that grows with the failures in a row, spread over its upper half: many processes meet
 * the same outage, and must not come back from it at the same moments. The loop never ends by itself.
 */
export function createLoop({ name, step, timers, random, log }: LoopDeps): Loop {
  let running: Promise<void> | null = null;
  let stopped = false;
  let woken = false;
  let endWait = () => {};

  async function wait(ms: number): Promise<void> {
    if (ms > 0 && !woken && !stopped) {
      await new Promise<void>((resolve) => {
        const stopTimer = timers.after(ms, resolve);
        endWait = () => {
          stopTimer();
          resolve();
        };
      });
    }
    woken = false;
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopped) {
      let dueMs: number;
      try {
        dueMs = await step();
        if (failures > 0) log.info({ loop: name, failures }, 'works again');
        failures = 0;
      } catch (error) {
        failures++;
        dueMs = backoffMs(failures) * (0.5 + random() / 2);
        if (failures === 1) log.warn({ loop: name, err: error }, 'failed, is tried again');
        else log.debug({ loop: name, err: error, failures }, 'failed again');
      }
      await wait(dueMs);
    }
  }

  return {
    start() {
      if (!stopped) running ??= run();
    },
    wake() {
      woken = true;
      endWait();
    },
    async stop() {
      stopped = true;
      endWait();
      await running;
    },
  };
}
