import { Refusal } from '#domain/errors.ts';
import type { KeyId } from '#domain/ids.ts';
import type { RequestCount, RequestCounter } from '#limiter/request-counter.ts';

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
  /** What counts for all processes, in windows of `REQUEST_WINDOW_MS`; without it, and while it cannot be asked, this process counts for itself. */
  readonly counter?: Pick<RequestCounter, 'count'> | undefined;
};

/** Limits by fixed windows. Refused requests count too, as their answers cost as much. */
export function createLimitRequests({ limitPerMinute, now, counter }: Deps): LimitRequests {
  if (limitPerMinute === 0) return () => null;
  const countHere = createCountHere(now);
  const allowanceOf = ({ count, resetMs }: RequestCount): RequestAllowance => ({
    admitted: count <= limitPerMinute,
    limit: limitPerMinute,
    remaining: Math.max(0, limitPerMinute - count),
    resetMs,
  });

  if (counter === undefined) return (keyId) => allowanceOf(countHere(keyId));
  return async (keyId) => allowanceOf((await counter.count(keyId)) ?? countHere(keyId));
}

/** Counts within this process, in one window for all keys: exact in what it tells, and its memory ends with the window. */
function createCountHere(now: () => number): (keyId: KeyId) => RequestCount {
  const counts = new Map<KeyId, number>();
  let windowEnd = 0;

  return (keyId) => {
    const at = now();
    if (at >= windowEnd) {
      counts.clear();
      windowEnd = at + REQUEST_WINDOW_MS;
    }
    const count = (counts.get(keyId) ?? 0) + 1;
    counts.set(keyId, count);
    return { count, resetMs: windowEnd - at };
  };
}

/** The refusal of a request that was not admitted. */
export const requestsExceeded = ({ limit, resetMs }: RequestAllowance): Refusal =>
  new Refusal('rate_limited', `This API key may make ${limit} requests a minute.`, { retryAfterMs: resetMs });
