import type { EpochMs } from './ids.ts';

/**
 * `queued` waits in the frontier; `fetched`: a response other than a redirect arrived; `redirected`: a redirect arrived;
 * `failed`: no response; `blocked`: not asked for, or not allowed to be (robots.txt, nofollow, address guard).
 */
export type PageStatus = 'queued' | 'fetched' | 'redirected' | 'failed' | 'blocked';
export const PAGE_STATUSES = ['queued', 'fetched', 'redirected', 'failed', 'blocked'] as const satisfies readonly PageStatus[];

/** What one pass over a page's HTML found; null on a page that is not HTML. */
export type PageFacts = {
  /** The first `<title>` in the document's head, white space collapsed; '' when there is none. */
  readonly title: string;
  /** The content of `<meta name=description>`; null when there is none. */
  readonly description: string | null;
  /** `<html lang>`; null when there is none. */
  readonly lang: string | null;
  /** `<link rel=canonical>`, absolute; null when there is none. */
  readonly canonical: string | null;
  readonly h1Count: number;
  readonly imagesWithoutAlt: number;
  /** Characters of text outside script and style. */
  readonly textLength: number;
  /** What meta elements (robots, crawlgate) and the header `X-Robots-Tag` ask. */
  readonly noindex: boolean;
  readonly nofollow: boolean;
};

/** A URL's first entry into a crawl. `seq` is the order of discovery, from 0 (the start URL). */
export type DiscoveredPage = {
  readonly seq: number;
  readonly url: string;
  readonly depth: number;
  readonly status: 'queued' | 'blocked';
  /** For `blocked`: the fact that decided, such as the robots.txt line. Else null. */
  readonly reason: string | null;
  /** The page on which it was found first; null for the start URL. */
  readonly foundOn: number | null;
  /** How many redirects in a row led here; 0 for a URL found as a link. */
  readonly redirects: number;
};

/** What became of a queued page. */
export type PageResult = {
  readonly seq: number;
  readonly status: Exclude<PageStatus, 'queued'>;
  /** Null when no response arrived. */
  readonly httpStatus: number | null;
  readonly contentType: string | null;
  /** Why it `failed` or is `blocked`, or why it is `redirected` to no page, one human sentence; else null. */
  readonly reason: string | null;
  /** `redirected`: where to, absolute, if that can be the address of a page; else null. */
  readonly redirectUrl: string | null;
  /** When the request was sent, by the worker's clock; informative only. */
  readonly fetchedAt: EpochMs;
  /** From sending the request to the end of the body, milliseconds. */
  readonly durationMs: number;
  /** Body bytes after decompression, as far as they were read. */
  readonly bytes: number;
  /** The body was cut: by the connection or by the size bound. */
  readonly truncated: boolean;
  readonly facts: PageFacts | null;
  /** Outgoing links to pages of this crawl: their seqs, each once, in order of appearance. */
  readonly links: readonly number[];
  /** Outgoing http(s) links to anything else: absolute URLs, each once. With `links` at most 5,000. */
  readonly otherLinks: readonly string[];
  readonly linksTruncated: boolean;
};

/** A page as stored: its discovery and, unless it is queued, its result. */
export type Page = Omit<DiscoveredPage, 'status'> &
  Omit<PageResult, 'status' | 'links' | 'otherLinks' | 'httpStatus' | 'fetchedAt' | 'durationMs'> & {
    readonly status: PageStatus;
    readonly httpStatus: number | null;
    readonly fetchedAt: EpochMs | null;
    readonly durationMs: number | null;
  };

/** A page with its outgoing links, as analysis reads it. */
export type PageWithLinks = Page & Pick<PageResult, 'links' | 'otherLinks'>;

/** How the `reason` of a blocked page begins when robots.txt has decided. */
export const BLOCKED_BY_ROBOTS = 'robots.txt ';
export const MAX_LINKS_PER_PAGE = 5_000;
export const MAX_URL_LENGTH = 2_048;
