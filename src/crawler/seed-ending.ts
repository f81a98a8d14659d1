import type { Ending } from '#domain/crawl.ts';
import { BLOCKED_BY_ROBOTS, type PageStatus } from '#domain/page.ts';
import { isRefusal } from './reasons.ts';

/** A page of the start: the start URL, or what it redirected to. */
export type SeedPage = {
  readonly seq: number;
  readonly url: string;
  readonly status: PageStatus;
  readonly reason: string | null;
  readonly redirectUrl: string | null;
  /** Not known of one that another worker has fetched. */
  readonly setsCookie?: boolean;
};

const COOKIES = '; the site sets a cookie meanwhile, and may redirect until it comes back, but the crawler keeps no cookies';

/**
 * How a crawl ended whose start led to no page, told by the pages of its start, in any order; null when it led to
 * one. The sentence names the fact.
 */
export function seedEnding(pages: readonly SeedPage[], refuses: (url: URL) => string | null): Ending | null {
  const last = [...pages].sort((one, other) => one.seq - other.seq).at(-1);
  if (last === undefined || pages.some(({ status }) => status === 'fetched' || status === 'queued')) return null;
  const reason = last.reason ?? '';
  if (last.status === 'blocked' && reason.startsWith(BLOCKED_BY_ROBOTS))
    return { endReason: 'seed_blocked_by_robots', error: `${last.url} may not be crawled: ${reason.replace(/\.$/, '')}.` };
  if (last.status === 'blocked' && isRefusal(reason)) return { endReason: 'address_not_allowed', error: reason };
  if (last.status !== 'redirected') return { endReason: 'seed_unreachable', error: reason };
  return redirectedNowhere(pages, last, refuses);
}

function redirectedNowhere(pages: readonly SeedPage[], last: SeedPage, refuses: (url: URL) => string | null): Ending {
  if (last.redirectUrl === null) return { endReason: 'seed_unreachable', error: last.reason ?? '' };
  const to = last.redirectUrl;
  const target = URL.parse(to);
  const refusal = target === null ? null : refuses(target);
  if (refusal !== null) return { endReason: 'address_not_allowed', error: `${last.url} redirects to ${to}: ${refusal}` };
  const isLoop = pages.some(({ url }) => url === to);
  const isTooMany = pages.length > 1 && target !== null && target.host === URL.parse(last.url)?.host;
  const why = isLoop
    ? 'in a loop'
    : isTooMany
      ? `after ${pages.length - 1} redirects in a row, which is too many`
      : 'which is another site';
  const cookies = (isLoop || isTooMany) && pages.some(({ setsCookie }) => setsCookie) ? COOKIES : '';
  return { endReason: 'seed_unreachable', error: `${last.url} redirects to ${to}, ${why}${cookies}.` };
}
