import type { Ending } from '#domain/crawl.ts';
import type { PageStatus } from '#domain/page.ts';
import { isRefusal } from './reasons.ts';

/** A page of the start: the start URL, or what it redirected to. */
export type SeedPage = {
  readonly seq: number;
  readonly url: string;
  readonly status: PageStatus;
  readonly reason: string | null;
  readonly redirectUrl: string | null;
};

const ROBOTS = 'robots.txt ';

/**
 * How a crawl ended whose start led to no page, told by the pages of its start, in any order; null when it led to
 * one. The sentence names the fact.
 */
export function seedEnding(pages: readonly SeedPage[], refuses: (url: URL) => string | null): Ending | null {
  const last = [...pages].sort((one, other) => one.seq - other.seq).at(-1);
  if (last === undefined || pages.some(({ status }) => status === 'fetched' || status === 'queued')) return null;
  const reason = last.reason ?? '';
  if (last.status === 'blocked' && reason.startsWith(ROBOTS))
    return { endReason: 'seed_blocked_by_robots', error: `${last.url} may not be crawled: ${reason.replace(/\.$/, '')}.` };
  if (last.status === 'blocked' && isRefusal(reason)) return { endReason: 'address_not_allowed', error: reason };
  if (last.status !== 'redirected') return { endReason: 'seed_unreachable', error: reason };
  return redirectedNowhere(pages, last, refuses);
}

function redirectedNowhere(pages: readonly SeedPage[], last: SeedPage, refuses: (url: URL) => string | null): Ending {
  const to = last.redirectUrl ?? '';
  const target = URL.parse(to);
  const refusal = target === null ? null : refuses(target);
  if (refusal !== null) return { endReason: 'address_not_allowed', error: `${last.url} redirects to ${to}: ${refusal}` };
  const why = pages.some(({ url }) => url === to)
    ? 'in a loop'
    : pages.length > 1 && target !== null && target.host === URL.parse(last.url)?.host
      ? `after ${pages.length - 1} redirects in a row, which is too many`
      : 'which is another site';
  return { endReason: 'seed_unreachable', error: `${last.url} redirects to ${to}, ${why}.` };
}
