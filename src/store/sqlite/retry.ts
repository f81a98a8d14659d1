import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '#domain/errors.ts';
import { isBusy, isOutsideCause } from './database.ts';

/** How long a lock that another process holds is waited for, in milliseconds. */
export const BUSY_TIMEOUT_MS = 5_000;
/** Between two attempts: a lock is held for one commit, a few milliseconds. */
export const BUSY_RETRY_MS = 5;

export const stillBusy = (cause: unknown) => unavailable(`The database has been locked for ${BUSY_TIMEOUT_MS / 1000} s.`, cause);

/** What a caller is told: `unavailable` where the machine is at fault, everything else as it is. */
export const told = (error: unknown): unknown => (isOutsideCause(error) ? unavailable('The database cannot be used.', error) : error);

/** Runs `step` again, by timer, while the database is busy; `unavailable` after `BUSY_TIMEOUT_MS`. */
export async function retryBusy<T>(step: () => T): Promise<T> {
  const start = performance.now();
  for (;;) {
    try {
      return step();
    } catch (error) {
      if (!isBusy(error)) throw told(error);
      if (performance.now() - start >= BUSY_TIMEOUT_MS) throw stillBusy(error);
    }
    await delay(BUSY_RETRY_MS);
  }
}
