import type { Finding } from '#domain/finding.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { Page } from '#domain/page.ts';
import type { Claim, RunStore } from '#store/store.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { Evidence, RuleText } from './rule.ts';

/** Findings that a crawl keeps of one rule; what comes after them is not stored and not counted. */
export const MAX_FINDINGS_PER_RULE = 10_000;
/** The most findings that one `addFindings` takes. */
const FINDINGS_PER_WRITE = 500;

/** Numbers a run's findings and stores them in chunks. */
export type FindingWriter = {
  /** Keeps a finding for the next flush, unless the rule has reached its bound. */
  add(rule: RuleText, page: Pick<Page, 'seq' | 'url'> | null, evidence: Evidence): void;
  isFull(rule: RuleText): boolean;
  /** Stores the full chunks that wait. Throws `LeaseLost`. */
  flushFull(): Promise<void>;
  /** Stores all that wait. Throws `LeaseLost`. */
  flush(): Promise<void>;
  /** Findings added so far. */
  count(): number;
};

export function createFindingWriter(store: Pick<RunStore, 'addFindings'>, claim: Pick<Claim, 'snapshot' | 'token'>): FindingWriter {
  const perRule = new Map<string, number>();
  let ordinal = 0;
  let waiting: Finding[] = [];
  const isFull = ({ id }: RuleText) => (perRule.get(id) ?? 0) >= MAX_FINDINGS_PER_RULE;

  async function flushDownTo(fewest: number): Promise<void> {
    while (waiting.length >= fewest) {
      const answer = await store.addFindings(claim.snapshot.id, claim.token, waiting.slice(0, FINDINGS_PER_WRITE));
      if (answer === 'lost') throw new LeaseLost();
      waiting = waiting.slice(FINDINGS_PER_WRITE);
    }
  }

  return {
    add(rule, page, evidence) {
      if (isFull(rule)) return;
      perRule.set(rule.id, (perRule.get(rule.id) ?? 0) + 1);
      const url = page?.url ?? null;
      const fingerprint = fingerprintOf(rule, url, evidence);
      waiting.push({ ordinal: ordinal++, fingerprint, rule: rule.id, severity: rule.severity, pageSeq: page?.seq ?? null, url, evidence });
    },
    isFull,
    flushFull: () => flushDownTo(FINDINGS_PER_WRITE),
    flush: () => flushDownTo(1),
    count: () => ordinal,
  };
}
