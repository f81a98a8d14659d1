import { createHash } from 'node:crypto';
import type { Bus } from '#bus/bus.ts';
import type { Caller } from '#domain/account.ts';
import type { Network } from '#domain/address.ts';
import { DEFAULT_MAX_DEPTH, DEFAULT_MAX_URLS, MOST_MAX_URLS } from '#domain/crawl.ts';
import { organizationGone, Refusal, type Violation } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { STARTS_PER_WINDOW, type StartAllowance } from '#domain/start-ring.ts';
import { parseStartUrl } from '#domain/url.ts';
import type { CreateCrawlOutcome, Store } from '#store/store.ts';
import { requireScope } from './require-scope.ts';

export type StartCrawlInput = {
  readonly url: string;
  /** A whole number ≥ 1; above 10,000 it becomes 10,000. 500 when absent. */
  readonly maxUrls?: number | undefined;
  /** A whole number ≥ 0; 0 is the start page only. 3 when absent. */
  readonly maxDepth?: number | undefined;
  /** A repeat with the same key within 24 h gets the crawl that the first one made. */
  readonly idempotencyKey?: string | undefined;
};

export type StartedCrawl = { readonly snapshot: Snapshot; readonly starts: StartAllowance };

/**
 * Starts a crawl; it is durable when this resolves. Throws `invalid_request` (with pointers), `rate_limited` (with retryAfterMs),
 * `quota_exceeded` (with resetsAt), `idempotency_mismatch`, `unauthorized` (the organization was removed); none of them uses up a start.
 */
export type StartCrawl = (input: StartCrawlInput, caller: Caller) => Promise<StartedCrawl>;

type Deps = {
  readonly store: Pick<Store, 'createCrawl'>;
  readonly bus: Pick<Bus, 'publish'>;
  readonly newId: () => CrawlId;
  /** Non-public networks in which a crawl may start. */
  readonly allowedNetworks: readonly Network[];
};

export function createStartCrawl({ store, bus, newId, allowedNetworks }: Deps): StartCrawl {
  return async (input, caller) => {
    requireScope(caller, 'crawls:write');
    const { organizationId, keyId } = caller;
    const wanted = read(input, allowedNetworks);
    const idempotency = input.idempotencyKey === undefined ? null : { key: input.idempotencyKey, requestHash: hashOf(wanted) };
    const outcome = await store.createCrawl({ ...wanted, id: newId(), organizationId, keyId, idempotency });
    if (!('snapshot' in outcome)) throw refused(outcome);
    if (outcome.kind === 'created') await bus.publish(outcome.snapshot); // never rejects: the crawl is stored, watchers re-read
    return { snapshot: outcome.snapshot, starts: outcome.starts };
  };
}

/** Depth grows by a fetched page each, so a deeper bound than this never binds. */
const MOST_MAX_DEPTH = MOST_MAX_URLS;

function read({ url, maxUrls = DEFAULT_MAX_URLS, maxDepth = DEFAULT_MAX_DEPTH }: StartCrawlInput, allowed: readonly Network[]) {
  const errors: Violation[] = [];
  const start = parseStartUrl(url, allowed);
  if ('wrong' in start) errors.push({ detail: start.wrong, pointer: '/url' });
  if (!Number.isInteger(maxUrls) || maxUrls < 1) errors.push({ detail: 'must be a whole number, at least 1', pointer: '/maxUrls' });
  if (!Number.isInteger(maxDepth) || maxDepth < 0) errors.push({ detail: 'must be a whole number, at least 0', pointer: '/maxDepth' });
  if (errors.length > 0 || 'wrong' in start) throw new Refusal('invalid_request', 'A crawl cannot start from this.', { errors });
  return { ...start, maxUrls: Math.min(maxUrls, MOST_MAX_URLS), maxDepth: Math.min(maxDepth, MOST_MAX_DEPTH) };
}

/** Over what was understood, so that a default that is written out makes no other request. */
const hashOf = ({ url, maxUrls, maxDepth }: { url: string; maxUrls: number; maxDepth: number }): string =>
  createHash('sha256')
    .update(JSON.stringify([url, maxUrls, maxDepth]))
    .digest('hex');

function refused(outcome: Exclude<CreateCrawlOutcome, { kind: 'created' | 'replayed' }>): Refusal {
  switch (outcome.kind) {
    case 'mismatch':
      return new Refusal('idempotency_mismatch', 'This Idempotency-Key was used for another request within the last 24 hours.');
    case 'rate_limited':
      return new Refusal('rate_limited', `An API key may start ${STARTS_PER_WINDOW} crawls in any 60 seconds.`, {
        retryAfterMs: outcome.retryAfterMs,
      });
    case 'quota_exceeded':
      return new Refusal('quota_exceeded', "The organization's URLs of this month are used up.", { resetsAt: outcome.resetsAt });
    case 'no_organization':
      return organizationGone();
  }
}
