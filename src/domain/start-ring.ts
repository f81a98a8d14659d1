import type { EpochMs } from './ids.ts';

/** In any window of this length a key gets at most this many accepted starts. */
export const STARTS_PER_WINDOW = 10;
export const START_WINDOW_MS = 60_000;

/** What a key may still start. */
export type StartAllowance = {
  readonly remaining: number;
  /** Milliseconds until one more start is allowed than now; 0 when the ring is empty. */
  readonly resetMs: number;
};

/**
 * A key's ring: the times of its last ten accepted starts, oldest at `next`. Slot `next` may be taken when its time is at least
 * a window ago: then no eleven starts lie in any one window.
 */
export type StartRing = { readonly next: number; readonly slots: readonly EpochMs[] };

export const emptyRing = (): StartRing => ({ next: 0, slots: Array.from({ length: STARTS_PER_WINDOW }, () => 0) });

/** Milliseconds until the next slot can be taken; 0 when it can be now. */
export function retryAfterMs(ring: StartRing, now: EpochMs): number {
  const oldest = ring.slots[ring.next] ?? 0;
  return Math.max(0, oldest + START_WINDOW_MS - now);
}

/** The ring after a start at `now`. Call only when `retryAfterMs` is 0. */
export function take(ring: StartRing, now: EpochMs): StartRing {
  const slots = [...ring.slots];
  slots[ring.next] = now;
  return { next: (ring.next + 1) % STARTS_PER_WINDOW, slots };
}

export function allowanceOf(ring: StartRing, now: EpochMs): StartAllowance {
  const taken = ring.slots.filter((at) => at + START_WINDOW_MS > now);
  const resetMs = taken.length === 0 ? 0 : Math.min(...taken) + START_WINDOW_MS - now;
  return { remaining: STARTS_PER_WINDOW - taken.length, resetMs };
}
