import type { Rule, RuleText } from './rule.ts';
import { httpClientError } from './rules/http-client-error.ts';
import { httpNoResponse } from './rules/http-no-response.ts';
import { httpServerError } from './rules/http-server-error.ts';
import { linkBrokenInternal } from './rules/link-broken-internal.ts';
import { titleDuplicate } from './rules/title-duplicate.ts';
import { titleMissing } from './rules/title-missing.ts';

/** Every rule that a crawl is checked by. */
export const RULES: readonly Rule[] = [httpServerError, httpClientError, httpNoResponse, linkBrokenInternal, titleMissing, titleDuplicate];

const byId: ReadonlyMap<string, Rule> = new Map(RULES.map((rule) => [rule.id, rule]));

/** What a reader of findings is told of a rule; null for an id that is unknown, such as one of a later version. */
export function describeRule(id: string): Pick<RuleText, 'title' | 'why' | 'fix' | 'severity'> | null {
  const rule = byId.get(id);
  return rule === undefined ? null : { title: rule.title, why: rule.why, fix: rule.fix, severity: rule.severity };
}
