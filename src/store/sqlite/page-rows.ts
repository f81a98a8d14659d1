import type { Finding, Severity } from '#domain/finding.ts';
import type { DiscoveredPage, Page, PageFacts, PageStatus, PageWithLinks } from '#domain/page.ts';

/** The columns of `pages` that a page is made of. */
export const PAGE = `seq, url, depth, status, redirects, found_on, reason, http_status, content_type, redirect_url, fetched_at,
  duration_ms, bytes, truncated, links_truncated, facts`;

export type PageRow = {
  seq: number;
  url: string;
  depth: number;
  status: PageStatus;
  redirects: number;
  found_on: number | null;
  reason: string | null;
  http_status: number | null;
  content_type: string | null;
  redirect_url: string | null;
  fetched_at: number | null;
  duration_ms: number | null;
  bytes: number;
  truncated: number;
  links_truncated: number;
  facts: string | null;
};
export type LinkedPageRow = PageRow & { links: Uint8Array<ArrayBuffer> | null; other_links: string | null };

export type FrontierRow = Pick<DiscoveredPage, 'seq' | 'url' | 'depth' | 'redirects'> & { status: PageStatus };

export const pageOf = (row: PageRow): Page => ({
  seq: row.seq,
  url: row.url,
  depth: row.depth,
  status: row.status,
  redirects: row.redirects,
  foundOn: row.found_on,
  reason: row.reason,
  httpStatus: row.http_status,
  contentType: row.content_type,
  redirectUrl: row.redirect_url,
  fetchedAt: row.fetched_at,
  durationMs: row.duration_ms,
  bytes: row.bytes,
  truncated: row.truncated === 1,
  linksTruncated: row.links_truncated === 1,
  facts: row.facts === null ? null : (JSON.parse(row.facts) as PageFacts),
});

export const linkedPageOf = (row: LinkedPageRow): PageWithLinks => ({
  ...pageOf(row),
  links: unpackLinks(row.links),
  otherLinks: row.other_links === null ? [] : (JSON.parse(row.other_links) as string[]),
});

/** Seqs as 32-bit integers, four bytes each; null for none. */
export const packLinks = (links: readonly number[]): Uint8Array | null =>
  links.length === 0 ? null : new Uint8Array(Uint32Array.from(links).buffer);

const unpackLinks = (blob: Uint8Array | null): number[] => (blob === null ? [] : Array.from(new Uint32Array(Uint8Array.from(blob).buffer)));

/** The columns of `findings` that a finding is made of. */
export const FINDING = 'ordinal, fingerprint, rule, severity, page_seq, url, evidence';
export type FindingRow = {
  ordinal: number;
  fingerprint: string;
  rule: string;
  severity: Severity;
  page_seq: number | null;
  url: string | null;
  evidence: string;
};

export const findingOf = (row: FindingRow): Finding => ({
  ordinal: row.ordinal,
  fingerprint: row.fingerprint,
  rule: row.rule,
  severity: row.severity,
  pageSeq: row.page_seq,
  url: row.url,
  evidence: JSON.parse(row.evidence) as Finding['evidence'],
});
