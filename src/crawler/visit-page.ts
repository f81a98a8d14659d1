import type { EpochMs } from '#domain/ids.ts';
import type { PageResult, PageStatus } from '#domain/page.ts';
import { monthOf } from '#domain/quota.ts';
import { pageUrl } from '#domain/url.ts';
import type { Batcher } from './batcher.ts';
import { RetryLater } from './crawlee.ts';
import { decodeText } from './decode-text.ts';
import { createEncodeQuery, type EncodeQuery } from './encode-query.ts';
import type { FetchPage, NoResponse, Response, Wanted } from './fetch-page.ts';
import type { LinkFollower } from './follow-links.ts';
import type { Entry, Frontier, Ticket } from './frontier.ts';
import { type CrawlLimits, MAX_REDIRECTS, MAX_RETRIES } from './limits.ts';
import { type Lane, type Load, loadOf } from './origin-limiter.ts';
import { isHtml, isXhtml, looksLikeHtml, parseHtml } from './parse-html.ts';
import type { QuotaMeter } from './quota-meter.ts';
import { nowhereReason } from './reasons.ts';
import { readRobotsTags } from './robots-directives.ts';

/**
 * Fetches a page, has what it found discovered, and hands in its result. Throws `RetryLater` when it is worth another attempt, and
 * the signal's reason when it was stopped: then nothing was handed in, and the page stays queued.
 */
export type VisitPage = (entry: Entry) => Promise<void>;

type Deps = {
  readonly frontier: Pick<Frontier, 'settle'>;
  readonly batcher: Pick<Batcher, 'result' | 'room'>;
  readonly quota: QuotaMeter;
  readonly follower: Pick<LinkFollower, 'discover' | 'follow'>;
  readonly laneOf: (origin: string) => Promise<Lane>;
  /** Whether a page that redirects to `target` leads to a page of the crawl; may widen the crawl's scope. */
  readonly admits: (entry: Entry, target: URL) => boolean;
  readonly fetchPage: FetchPage;
  readonly limits: CrawlLimits;
  readonly now: () => EpochMs;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Told of each result, in the order in which they are handed in, and of redirects whether they set a cookie. */
  readonly onResult: (entry: Entry, result: PageResult, setsCookie: boolean) => void;
  readonly onQuotaExhausted: () => void;
};

const NO_LINKS = { links: [], otherLinks: [], linksTruncated: false };

/** Fetch Standard §2.2.3; a redirect that names no target is a response like any other. */
const isRedirect = (status: number): boolean => status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
const isWorthRetry = (answer: Response | NoResponse): boolean =>
  answer.kind === 'none' ? !answer.refused : answer.status === 429 || answer.status >= 500;

const resultOf = (entry: Entry, status: Exclude<PageStatus, 'queued'>, answer: Response | NoResponse): PageResult => ({
  seq: entry.seq,
  status,
  httpStatus: answer.kind === 'none' ? null : answer.status,
  contentType: answer.kind === 'none' ? null : (answer.contentType?.slice(0, 256) ?? null),
  reason: answer.kind === 'none' ? answer.reason : null,
  redirectUrl: null,
  fetchedAt: answer.sentAt,
  durationMs: answer.durationMs,
  bytes: answer.kind === 'none' ? 0 : answer.bytes,
  truncated: answer.kind === 'none' ? false : answer.truncated,
  facts: null,
  ...NO_LINKS,
});

export function createVisitPage(deps: Deps): VisitPage {
  const { frontier, batcher, quota, follower, laneOf, admits, fetchPage, limits, now, random, signal } = deps;
  const wanted: Wanted = {
    bytes: (status, contentType) => (!isRedirect(status) && isHtml(contentType) ? limits.bodyBytes : 0),
    sniff: looksLikeHtml,
  };

  /** By encoding: a site has one or two. */
  const encodeQueries = new Map<string, EncodeQuery | null>();
  function encodeQueryOf(encoding: string): EncodeQuery | null {
    const known = encodeQueries.get(encoding);
    if (known !== undefined) return known;
    const fresh = createEncodeQuery(encoding);
    encodeQueries.set(encoding, fresh);
    return fresh;
  }

  /** The right to send one request now, kept over retries of a month; false when the organization has none left. */
  async function admit(entry: Entry): Promise<boolean> {
    if (entry.ticket?.month === monthOf(now())) return true;
    const ticket = await quota.acquire();
    if (ticket === 'exhausted') return false;
    if (entry.ticket !== null && entry.ticket !== entry.fallback?.ticket) quota.release(entry.ticket);
    entry.ticket = ticket;
    return true;
  }

  async function send(entry: Entry, url: URL): Promise<Response | NoResponse | null> {
    const lane = await laneOf(url.origin);
    await batcher.room();
    await lane.acquire(signal);
    let load: Load | null = null;
    try {
      if (!(await admit(entry))) return null;
      entry.attempt++;
      const answer = await fetchPage(url, wanted, signal);
      load = loadOf(answer);
      return answer;
    } finally {
      lane.done(load);
    }
  }

  async function readPage(entry: Entry, url: URL, answer: Response): Promise<PageResult> {
    const result = resultOf(entry, 'fetched', answer);
    if (answer.body === null) return result;
    const { contentType, robotsTags } = answer;
    const { text, encoding } = decodeText(answer.body, contentType);
    const options = { asked: readRobotsTags(robotsTags), xhtml: isXhtml(contentType), encodeQuery: encodeQueryOf(encoding) };
    const parsed = await parseHtml(text, url, options);
    // What an error page links to is the same on each of them, and relative to an address that does not exist.
    const outgoing = answer.status >= 400 ? NO_LINKS : await follower.follow(entry, url, parsed);
    return { ...result, facts: parsed.facts, ...outgoing };
  }

  async function readRedirect(entry: Entry, url: URL, location: string, answer: Response): Promise<PageResult> {
    const target = pageUrl(location, url);
    if (target === null) return { ...resultOf(entry, 'redirected', answer), reason: nowhereReason(url, location) };
    const redirects = entry.redirects + 1;
    if (admits(entry, target) && redirects <= MAX_REDIRECTS)
      await follower.discover(target, { depth: entry.depth, foundOn: entry.seq, redirects });
    return { ...resultOf(entry, 'redirected', answer), redirectUrl: target.href };
  }

  function handIn(entry: Entry, result: PageResult, charged: Ticket | null, setsCookie = false): void {
    for (const ticket of new Set([entry.ticket, entry.fallback?.ticket ?? null])) {
      if (ticket === null) continue;
      if (ticket === charged) quota.charge(ticket);
      else quota.release(ticket);
    }
    entry.fallback = null;
    deps.onResult(entry, result, setsCookie);
    batcher.result(result, charged?.month ?? null);
    frontier.settle(result.status === 'fetched' ? 'fetched' : 'other');
  }

  async function postpone(entry: Entry, url: URL, answer: Response | NoResponse): Promise<never> {
    let asked = 0;
    if (answer.kind === 'response' && entry.ticket !== null) {
      const earlier = entry.fallback?.ticket;
      if (earlier !== undefined && earlier !== entry.ticket) quota.release(earlier);
      entry.fallback = { result: await readPage(entry, url, answer), ticket: entry.ticket };
      asked = Math.min(limits.retryAfterMs, answer.retryAfterMs ?? 0);
    }
    const delay = limits.retryDelayMs * 2 ** (entry.attempt - 1) * (0.75 + random() / 2);
    entry.retryAt = now() + Math.ceil(Math.max(delay, asked));
    throw new RetryLater();
  }

  return async (entry) => {
    const url = new URL(entry.url);
    const answer = await send(entry, url);
    if (answer === null) return deps.onQuotaExhausted();
    if (isWorthRetry(answer) && entry.attempt <= MAX_RETRIES) return postpone(entry, url, answer);
    if (answer.kind === 'none') {
      if (entry.fallback !== null) handIn(entry, entry.fallback.result, entry.fallback.ticket);
      else handIn(entry, resultOf(entry, answer.refused ? 'blocked' : 'failed', answer), null);
      return;
    }
    const { status, location, setsCookie } = answer;
    if (isRedirect(status) && location !== null) handIn(entry, await readRedirect(entry, url, location, answer), null, setsCookie);
    else handIn(entry, await readPage(entry, url, answer), entry.ticket);
  };
}
