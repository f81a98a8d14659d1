import { CRAWL_TIME_LIMIT_MS } from '#domain/crawl.ts';

/** The bounds of a crawl. Times in milliseconds, sizes in bytes. */
export type CrawlLimits = {
  /** Until a connection stands, name lookup and TLS included. */
  readonly connectMs: number;
  /** From sending a request to the end of the response's headers. */
  readonly headersMs: number;
  /** From asking for a connection to the end of the body. */
  readonly pageMs: number;
  readonly headerBytes: number;
  /** Of an HTML body, after decompression. */
  readonly bodyBytes: number;
  /** Of a body that nobody wants: read away up to this, so that the connection can be used again. */
  readonly unwantedBytes: number;
  readonly robotsBytes: number;
  /** From the accepted start of a crawl. */
  readonly crawlMs: number;
  /** Before the first retry; twice as long before the second. */
  readonly retryDelayMs: number;
  /** The longest `Retry-After` that is waited for. */
  readonly retryAfterMs: number;
  /** Between two questions for quota while other crawls hold all of it. */
  readonly quotaWaitMs: number;
  /** Between two tries of a store that does not answer. */
  readonly storeRetryMs: number;
};

export const DEFAULT_LIMITS: CrawlLimits = {
  connectMs: 10_000,
  headersMs: 15_000,
  pageMs: 30_000,
  headerBytes: 64 * 1024,
  bodyBytes: 5 * 1024 * 1024,
  unwantedBytes: 64 * 1024,
  robotsBytes: 500 * 1024,
  crawlMs: CRAWL_TIME_LIMIT_MS,
  retryDelayMs: 1_000,
  retryAfterMs: 120_000,
  quotaWaitMs: 1_000,
  storeRetryMs: 500,
};

/** How often a page is asked for again after no response, 429 or 5xx. */
export const MAX_RETRIES = 2;
/** Redirects in a row that are followed. */
export const MAX_REDIRECTS = 10;
/** Redirects that a robots.txt may take (RFC 9309 §2.3.1.2). */
export const MAX_ROBOTS_REDIRECTS = 5;
