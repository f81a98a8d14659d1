import type { PageFacts, PageWithLinks } from '#domain/page.ts';
import type { SiteFinding, SiteRule } from './rule.ts';

export const facts = (partial: Partial<PageFacts> = {}): PageFacts => ({
  title: 'A title',
  description: null,
  lang: 'en',
  canonical: null,
  h1Count: 1,
  imagesWithoutAlt: 0,
  textLength: 100,
  noindex: false,
  nofollow: false,
  ...partial,
});

/** An HTML page that answered 200, and its URL by its seq, unless `partial` says otherwise. */
export const page = (seq: number, partial: Partial<PageWithLinks> = {}): PageWithLinks => ({
  seq,
  url: `https://example.com/${seq}`,
  depth: 1,
  foundOn: seq === 0 ? null : 0,
  redirects: 0,
  status: 'fetched',
  httpStatus: 200,
  contentType: 'text/html',
  reason: null,
  redirectUrl: null,
  fetchedAt: 1_700_000_000_000,
  durationMs: 12,
  bytes: 1_024,
  truncated: false,
  facts: facts(),
  links: [],
  otherLinks: [],
  linksTruncated: false,
  ...partial,
});

const withoutAnswer = { httpStatus: null, contentType: null, facts: null, bytes: 0 } as const;

export const failed = (seq: number, reason = 'Could not connect to example.com: connection refused.'): PageWithLinks =>
  page(seq, { ...withoutAnswer, status: 'failed', reason });

export const blocked = (seq: number): PageWithLinks =>
  page(seq, { ...withoutAnswer, status: 'blocked', reason: 'robots.txt: Disallow: /', fetchedAt: null, durationMs: null });

export const redirected = (seq: number, redirectUrl: string): PageWithLinks =>
  page(seq, { status: 'redirected', httpStatus: 301, facts: null, redirectUrl });

/** An error page, HTML with a title of its own. */
export const errorPage = (seq: number, httpStatus: number, partial: Partial<PageWithLinks> = {}): PageWithLinks =>
  page(seq, { httpStatus, facts: facts({ title: 'Not found' }), ...partial });

/** What a site rule finds on these pages. */
export function findingsOf(rule: SiteRule, pages: readonly PageWithLinks[]): SiteFinding[] {
  const check = rule.begin();
  for (const one of pages) check.page(one);
  return [...check.end()].map(({ seqs, tell }) => tell(seqs.flatMap((seq) => pages.filter((one) => one.seq === seq))));
}
