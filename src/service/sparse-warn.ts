import type { Timers } from '#domain/timers.ts';
import type { Log } from '#telemetry.ts';

/** Logs what many watchers meet at once and again and again: each message at most once in 10 s, with how often it came. */
export type SparseWarn = (error: unknown, message: string) => void;

const QUIET_MS = 10_000;

export function createSparseWarn({ log, timers }: { readonly log: Pick<Log, 'warn'>; readonly timers: Timers }): SparseWarn {
  const told = new Map<string, { times: number; quietUntil: number }>();
  return (error, message) => {
    const line = told.get(message) ?? { times: 0, quietUntil: Number.NEGATIVE_INFINITY };
    told.set(message, line);
    line.times++;
    if (timers.now() < line.quietUntil) return;
    log.warn({ err: error, times: line.times }, message);
    line.times = 0;
    line.quietUntil = timers.now() + QUIET_MS;
  };
}
