import type { EpochMs } from '#domain/ids.ts';
import { BLOCKED_BY_ROBOTS } from '#domain/page.ts';
import { pageUrl } from '#domain/url.ts';
import type { RunStore, StoredRobots } from '#store/store.ts';
import type { FetchPage, NoResponse, Response } from './fetch-page.ts';
import { type CrawlLimits, MAX_RETRIES, MAX_ROBOTS_REDIRECTS } from './limits.ts';
import { ALLOW_ALL, disallowAll, parseRobots, productToken, type Robots } from './robots.ts';

/** An origin's robots.txt for this crawler. `unreachable` is why there was no answer; null when there was one. */
export type OriginRobots = Robots & { readonly unreachable: { readonly reason: string; readonly refused: boolean } | null };

/** Sends one request of the origin's turn. */
type Send = (url: URL) => Promise<Response | NoResponse>;

/**
 * The robots.txt of `origin`: from the store while it is fresh, else fetched by RFC 9309 §2.3 and stored. 4xx allows everything,
 * 5xx and no answer forbid everything. `send` is used for every request that it takes.
 */
export type GetRobots = (origin: string, send: Send, signal: AbortSignal) => Promise<OriginRobots>;

type Deps = {
  readonly store: Pick<RunStore, 'getRobots' | 'putRobots'>;
  readonly userAgent: string;
  readonly limits: CrawlLimits;
  readonly now: () => EpochMs;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

const ANSWER_FRESH_MS = 24 * 60 * 60 * 1000;
const FAILURE_FRESH_MS = 60 * 1000;
/** Marks a stored failure as a refusal of the address guard. */
const REFUSED = 'refused: ';

const isRedirect = (status: number): boolean => status >= 300 && status < 400;

/** UTF-8 (RFC 9309 §2.3), unless a BOM says that an editor has saved it as UTF-16. */
function decodeRobots(body: Buffer): string {
  const [first, second] = body;
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(body);
}

export const wantRobots = (limits: CrawlLimits): Parameters<FetchPage>[1] => ({
  bytes: (status) => (status >= 200 && status < 300 ? limits.robotsBytes : 0),
  sniff: () => true,
});

export function createGetRobots({ store, userAgent, limits, now, wait }: Deps): GetRobots {
  const token = productToken(userAgent);

  async function sendPatiently(url: URL, send: Send, signal: AbortSignal): Promise<Response | NoResponse> {
    for (let attempt = 0; ; attempt++) {
      const answer = await send(url);
      const worthIt = answer.kind === 'none' ? !answer.refused : answer.status === 429 || answer.status >= 500;
      if (!worthIt || attempt >= MAX_RETRIES) return answer;
      await wait(limits.retryDelayMs * 2 ** attempt, signal);
    }
  }

  async function fetchRobots(origin: string, send: Send, signal: AbortSignal): Promise<StoredRobots> {
    let url = new URL('/robots.txt', origin);
    for (let redirects = 0; ; redirects++) {
      const answer = await sendPatiently(url, send, signal);
      const fetchedAt = now();
      const fresh = (ms: number) => ({ fetchedAt, expiresAt: fetchedAt + ms });
      if (answer.kind === 'none')
        return { status: null, body: null, error: `${answer.refused ? REFUSED : ''}${answer.reason}`, ...fresh(FAILURE_FRESH_MS) };
      const { status, body } = answer;
      if (isRedirect(status)) {
        const target = answer.location === null ? null : pageUrl(answer.location, url);
        // §2.3.1.2: more redirects than that, or one to nowhere, count as a file that is not available, which allows everything.
        if (target === null || redirects >= MAX_ROBOTS_REDIRECTS) return { status, body: null, error: null, ...fresh(ANSWER_FRESH_MS) };
        url = target;
      } else if (status >= 500) {
        return {
          status,
          body: null,
          error: `${BLOCKED_BY_ROBOTS}answered with status ${status}, which forbids everything.`,
          ...fresh(FAILURE_FRESH_MS),
        };
      } else {
        // A crawler that is to come later has not been told what it may ask for.
        const freshMs = status === 429 ? FAILURE_FRESH_MS : ANSWER_FRESH_MS;
        return { status, body: status < 300 && body !== null ? decodeRobots(body) : null, error: null, ...fresh(freshMs) };
      }
    }
  }

  function read({ status, body, error }: StoredRobots): OriginRobots {
    if (status === null) {
      const refused = error?.startsWith(REFUSED) ?? false;
      const reason = (error ?? '').slice(refused ? REFUSED.length : 0);
      return { ...disallowAll(reason), unreachable: { reason, refused } };
    }
    if (error !== null) return { ...disallowAll(error), unreachable: null };
    return { ...(body === null ? ALLOW_ALL : parseRobots(body, token)), unreachable: null };
  }

  return async (origin, send, signal) => {
    const cached = await store.getRobots(origin);
    if (cached !== null) return read(cached);
    const fetched = await fetchRobots(origin, send, signal);
    await store.putRobots(origin, fetched);
    return read(fetched);
  };
}
