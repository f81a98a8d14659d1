import type { Counters } from '#domain/batch.ts';
import { CRAWL_STATES, DONE_REASONS, FAILED_REASONS } from '#domain/crawl.ts';
import { isUuid } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';

type Check = (value: unknown) => boolean;
type Checks<Shape> = { readonly [Field in keyof Shape]-?: Check };

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const count: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const uuid: Check = (value) => typeof value === 'string' && isUuid(value);
const oneOf =
  (values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const COUNTERS: Checks<Counters> = { discovered: count, fetched: count, redirected: count, failed: count, blocked: count };

const SNAPSHOT: Checks<Snapshot> = {
  id: uuid,
  organizationId: uuid,
  siteId: uuid,
  url: text,
  host: text,
  authority: text,
  state: oneOf(CRAWL_STATES),
  phase: oneOf(['queued', 'fetching', 'analyzing', 'finished']),
  endReason: orNull(oneOf([...DONE_REASONS, ...FAILED_REASONS])),
  error: orNull(text),
  maxUrls: count,
  maxDepth: count,
  counters: (value) => pick(COUNTERS, value) !== null,
  frontierTruncated: flag,
  findingsCount: orNull(count),
  cancelRequested: flag,
  startedAt: count,
  finishedAt: orNull(count),
  version: count,
};

/** The fields of `checks` alone, if `value` has all of them as they must be. */
function pick<Shape>(checks: Checks<Shape>, value: unknown): Shape | null {
  if (typeof value !== 'object' || value === null) return null;
  const given = new Map<string, unknown>(Object.entries(value));
  const picked: [string, unknown][] = [];
  for (const [field, check] of Object.entries<Check>(checks)) {
    if (!check(given.get(field))) return null;
    picked.push([field, given.get(field)]);
  }
  return Object.fromEntries(picked) as Shape;
}

/**
 * The snapshot that a message holds; null when it holds none. Fields that are not known here are left out, so that processes of the
 * next version can be understood; one that lacks a field is not.
 */
export function parseSnapshot(message: string): Snapshot | null {
  try {
    const snapshot = pick(SNAPSHOT, JSON.parse(message));
    return snapshot && { ...snapshot, counters: pick(COUNTERS, snapshot.counters) ?? snapshot.counters };
  } catch {
    return null;
  }
}
