import type { Finding, Severity } from '#domain/finding.ts';
import type { Page, PageFacts, PageWithLinks } from '#domain/page.ts';
import { isSameHost } from './addresses.ts';

export type Evidence = Finding['evidence'];

/** What every rule says about itself. */
export type RuleText = {
  /** Unique and lasting: `<subject>.<what is wrong>`. */
  readonly id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly why: string;
  readonly fix: string;
  /**
   * The evidence that tells one finding of a page from another, and so goes into its fingerprint beside rule and page. Leave out
   * what may differ in the next crawl while the fault is the same: counts, samples, texts of errors.
   */
  readonly identifiedBy?: readonly string[];
};

/** Judges each page by itself. Answers one evidence a finding; `[]` when the page keeps the rule. */
export type PageRule = RuleText & { readonly kind: 'page'; readonly check: (page: Page) => readonly Evidence[] };

/** A finding of a site rule. `page` is null when no single page is at fault. */
export type SiteFinding = { readonly page: Page | null; readonly evidence: Evidence };

/**
 * A finding in the making: the pages that have to be read to tell it (their seqs, a dozen or so), and how it is told with them, given
 * in that order.
 */
export type Told = { readonly seqs: readonly number[]; readonly tell: (pages: readonly Page[]) => SiteFinding };

/** One crawl's state of a site rule: a few numbers a page at most, never its texts or its links. */
export type SiteCheck = {
  /** Called once for each page of the crawl, by seq. */
  page(page: PageWithLinks): void;
  /** Called once, after the last page. */
  end(): Iterable<Told>;
};

/** The links of a crawl by the page that they lead to; those of a page to itself are none. For `end`: not before are they complete. */
export type IncomingLinks = {
  /** How many pages link to it. */
  countTo(seq: number): number;
  /** The first `MAX_SAMPLES` of them. */
  samplesTo(seq: number): readonly number[];
};

/** Judges pages by each other, in one pass over all of them. */
export type SiteRule = RuleText & { readonly kind: 'site'; readonly begin: (links: IncomingLinks) => SiteCheck };

export type Rule = PageRule | SiteRule;

export const pageRule = (rule: Omit<PageRule, 'kind'>): PageRule => ({ ...rule, kind: 'page' });
export const siteRule = (rule: Omit<SiteRule, 'kind'>): SiteRule => ({ ...rule, kind: 'site' });

/** Pages that a finding names as examples. */
export const MAX_SAMPLES = 10;
/** Texts of a site are compared, and told, up to this many characters. */
export const MAX_TEXT_LENGTH = 300;

/**
 * The facts of a page that a reader gets and a search engine may list: HTML, answered 200, not `noindex`. Null for any other:
 * error pages, redirects and hidden pages are not judged by their content.
 */
export const indexedFacts = ({ status, httpStatus, facts }: Page): PageFacts | null =>
  status === 'fetched' && httpStatus === 200 && facts !== null && !facts.noindex ? facts : null;

/**
 * The facts of a page that a search engine may list under its own address: those of `indexedFacts`, unless the page names another one of
 * its host as canonical. One that names a page of another host is judged: what is crawled is then, as a rule, a copy for tests of the
 * site that it names. Null as well for a page that was cut off: nobody knows what was still to come.
 */
export function listedFacts(page: Page): PageFacts | null {
  const facts = indexedFacts(page);
  if (facts === null || page.truncated) return null;
  const { canonical } = facts;
  return canonical === null || canonical === page.url || !isSameHost(canonical, page.url) ? facts : null;
}

/** Whether asking for the page failed: it answered 4xx or 5xx, or not at all. */
export const isBroken = ({ status, httpStatus }: Page): boolean =>
  status === 'failed' || (status === 'fetched' && httpStatus !== null && httpStatus >= 400);
