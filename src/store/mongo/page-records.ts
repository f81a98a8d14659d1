import type { Finding } from '#domain/finding.ts';
import type { Page, PageWithLinks } from '#domain/page.ts';
import type { FindingDocument, PageDocument } from './documents.ts';

/** Everything but the links, which only analysis reads. */
export const WITHOUT_LINKS = { links: 0, otherLinks: 0 } as const;

export const pageOf = (page: PageDocument): Page => ({
  seq: page.seq,
  url: page.url,
  depth: page.depth,
  status: page.status,
  redirects: page.redirects,
  foundOn: page.foundOn,
  reason: page.reason,
  httpStatus: page.httpStatus ?? null,
  contentType: page.contentType ?? null,
  redirectUrl: page.redirectUrl ?? null,
  fetchedAt: page.fetchedAt ?? null,
  durationMs: page.durationMs ?? null,
  bytes: page.bytes ?? 0,
  truncated: page.truncated ?? false,
  linksTruncated: page.linksTruncated ?? false,
  facts: page.facts ?? null,
});

export const linkedPageOf = (page: PageDocument): PageWithLinks => ({
  ...pageOf(page),
  links: page.links ?? [],
  otherLinks: page.otherLinks ?? [],
});

export const findingOf = ({ ordinal, fingerprint, rule, severity, pageSeq, url, evidence }: FindingDocument): Finding => ({
  ordinal,
  fingerprint,
  rule,
  severity,
  pageSeq,
  url,
  evidence,
});
