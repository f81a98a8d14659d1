import type { Timers } from '#domain/timers.ts';

export type { Timers };

export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, or at once when `signal` is aborted. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stop = timers.after(ms, end);
    signal.addEventListener('abort', end);
  });
}

/** The wait before the next attempt after `failures` in a row, in milliseconds: 250, doubled each time up to 5,000. */
export const backoffMs = (failures: number): number => Math.min(5_000, 250 * 2 ** (failures - 1));
