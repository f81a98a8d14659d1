import type { Rule, RuleText } from './rule.ts';
import { canonicalBroken } from './rules/canonical-broken.ts';
import { contentThin } from './rules/content-thin.ts';
import { descriptionDuplicate } from './rules/description-duplicate.ts';
import { descriptionMissing } from './rules/description-missing.ts';
import { descriptionTooLong } from './rules/description-too-long.ts';
import { h1Missing } from './rules/h1-missing.ts';
import { h1Multiple } from './rules/h1-multiple.ts';
import { httpClientError } from './rules/http-client-error.ts';
import { httpNoResponse } from './rules/http-no-response.ts';
import { httpServerError } from './rules/http-server-error.ts';
import { imageAltMissing } from './rules/image-alt-missing.ts';
import { langInvalid } from './rules/lang-invalid.ts';
import { langMissing } from './rules/lang-missing.ts';
import { linkBrokenInternal } from './rules/link-broken-internal.ts';
import { linkInsecure } from './rules/link-insecure.ts';
import { linkRedirected } from './rules/link-redirected.ts';
import { pageDeadEnd } from './rules/page-dead-end.ts';
import { pageDeep } from './rules/page-deep.ts';
import { pageLarge } from './rules/page-large.ts';
import { pageSlow } from './rules/page-slow.ts';
import { pageTruncated } from './rules/page-truncated.ts';
import { redirectBroken } from './rules/redirect-broken.ts';
import { redirectChain } from './rules/redirect-chain.ts';
import { redirectLoop } from './rules/redirect-loop.ts';
import { siteInsecure } from './rules/site-insecure.ts';
import { siteNoindex } from './rules/site-noindex.ts';
import { titleDuplicate } from './rules/title-duplicate.ts';
import { titleMissing } from './rules/title-missing.ts';
import { titleTooLong } from './rules/title-too-long.ts';

/** Every rule that a crawl is checked by, by subject. */
export const RULES: readonly Rule[] = [
  httpServerError,
  httpClientError,
  httpNoResponse,
  redirectLoop,
  redirectBroken,
  redirectChain,
  linkBrokenInternal,
  linkRedirected,
  linkInsecure,
  canonicalBroken,
  titleMissing,
  titleDuplicate,
  titleTooLong,
  descriptionMissing,
  descriptionDuplicate,
  descriptionTooLong,
  h1Missing,
  h1Multiple,
  imageAltMissing,
  langMissing,
  langInvalid,
  contentThin,
  pageSlow,
  pageLarge,
  pageTruncated,
  pageDeep,
  pageDeadEnd,
  siteInsecure,
  siteNoindex,
];

const byId: ReadonlyMap<string, Rule> = new Map(RULES.map((rule) => [rule.id, rule]));

/** What a reader of findings is told of a rule; null for an id that is unknown, such as one of a later version. */
export function describeRule(id: string): Pick<RuleText, 'title' | 'why' | 'fix' | 'severity'> | null {
  const rule = byId.get(id);
  return rule === undefined ? null : { title: rule.title, why: rule.why, fix: rule.fix, severity: rule.severity };
}
