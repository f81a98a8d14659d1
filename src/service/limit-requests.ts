import { Refusal } from '#domain/errors.ts';
import type { KeyId } from '#domain/ids.ts';

export const REQUEST_WINDOW_MS = 60_000;

export type RequestAllowance = {
  readonly admitted: boolean;
  readonly limit: number;
  /** What is left after this request. */
  readonly remaining: number;
  /** Until `remaining` is `limit` again, in milliseconds; above 0. */
  readonly resetMs: number;
};

/** Counts a request of the key; null when nothing limits it. May be asked of another process: hence a promise is allowed. */
export type LimitRequests = (keyId: KeyId) => RequestAllowance | null | Promise<RequestAllowance | null>;

type Deps = {
  /** Requests a minute a key; 0 = no limit. */
  readonly limitPerMinute: number;
  /** A clock that never goes back, in milliseconds. */
  readonly now: () => number;
};

/**
 * Limits within this process, by one fixed window for all keys: exact in what it tells, and its memory ends with the window.
 * Refused requests count too, as their answers cost as much.
 */
export function createLimitRequests({ limitPerMinute, now }: Deps): LimitRequests {
  if (limitPerMinute === 0) return () => null;
  const counts = new Map<KeyId, number>();
  let windowEnd = 0;

  return (keyId) => {
    const at = now();
    if (at >= windowEnd) {
      counts.clear();
      windowEnd = at + REQUEST_WINDOW_MS;
    }
    const count = Math.min((counts.get(keyId) ?? 0) + 1, limitPerMinute + 1);
    counts.set(keyId, count);
    return {
      admitted: count <= limitPerMinute,
      limit: limitPerMinute,
      remaining: Math.max(0, limitPerMinute - count),
      resetMs: windowEnd - at,
    };
  };
}

/** The refusal of a request that was not admitted. */
export const requestsExceeded = ({ limit, resetMs }: RequestAllowance): Refusal =>
  new Refusal('rate_limited', `This API key may make ${limit} requests a minute.`, { retryAfterMs: resetMs });
