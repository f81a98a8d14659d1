import { createHash } from 'node:crypto';
import type { Evidence, RuleText } from './rule.ts';

/**
 * Names the same fault in every crawl: 128 bits, lower-case hex, over the rule's id, the page's URL (null for the site) and the
 * evidence that the rule is identified by.
 */
export function fingerprintOf({ id, identifiedBy = [] }: RuleText, url: string | null, evidence: Evidence): string {
  const identity = identifiedBy.map((name) => evidence[name] ?? null);
  return createHash('sha256')
    .update(JSON.stringify([id, url, identity]))
    .digest('hex')
    .slice(0, 32);
}
