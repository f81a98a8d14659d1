import type { Month } from './batch.ts';
import type { EpochMs } from './ids.ts';

/** The most pages that one grant adds to a crawl's hold. */
const GRANT_CHUNK = 100;
/** What has ended or was removed is remembered this long where something may still come late, in milliseconds. */
export const TOMBSTONE_MS = 24 * 60 * 60 * 1000;

/** The UTC month that `at` lies in. */
export const monthOf = (at: EpochMs): Month => new Date(at).toISOString().slice(0, 7);

/** When the month after `month` begins: its quota is whole again. */
export function resetsAt(month: Month): EpochMs {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return Date.UTC(year, number, 1);
}

/** What an organization may still be granted: never negative, also after its limit was lowered below what is used. */
export const freeOf = (usage: { limit: number; used: number; reserved: number }): number =>
  Math.max(0, usage.limit - usage.used - usage.reserved);

/** The size of the next grant; 0 when nothing is free or wanted. */
export const chunkOf = (free: number, wanted: number): number => Math.max(0, Math.min(GRANT_CHUNK, free, wanted));

/** A crawl's part of its organization's month. `granted − used` is reserved for it while the hold is open. */
export type Hold = { readonly month: Month; readonly granted: number; readonly used: number };

/** An organization's month. `remaining = limit − used − reserved`, not below 0. */
export type Usage = {
  readonly month: Month;
  readonly limit: number;
  /** Pages charged, exact at any instant. */
  readonly used: number;
  /** Pages granted to running crawls and not used yet. */
  readonly reserved: number;
  readonly remaining: number;
  readonly resetsAt: EpochMs;
};
