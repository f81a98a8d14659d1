import { linkTargets } from '../link-targets.ts';
import { isBroken, siteRule } from '../rule.ts';

export const linkBrokenInternal = siteRule({
  id: 'link.broken_internal',
  severity: 'high',
  title: 'Links lead to a broken page of the site',
  why: 'Whoever follows the link lands on an error and may leave; search engines waste visits on it.',
  fix: 'Correct or remove the link on the pages named here, or make the target answer again.',
  begin: (links) =>
    linkTargets(links, {
      isFault: isBroken,
      tell: ({ url, httpStatus, reason }) => ({ target: url, status: httpStatus, reason }),
    }),
});
