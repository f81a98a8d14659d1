export const SEVERITIES = ['high', 'medium', 'low'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A rule that a page, or the site, breaks. */
export type Finding = {
  /** Order within the crawl, from 0. */
  readonly ordinal: number;
  /** Stable over crawls: a hash of rule, page and evidence. */
  readonly fingerprint: string;
  /** The rule's id, such as `title.missing`. */
  readonly rule: string;
  readonly severity: Severity;
  /** The page that breaks it; null when the site as a whole does. */
  readonly pageSeq: number | null;
  readonly url: string | null;
  /** The facts that show it, a flat record. */
  readonly evidence: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
};
