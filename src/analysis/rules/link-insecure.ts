import { isMovedToHttps } from '../addresses.ts';
import { linkTargets } from '../link-targets.ts';
import { siteRule } from '../rule.ts';

/** Of addresses that redirect to https only: pages that answer by http are told by `site.insecure`, broken ones by `link.broken_internal`. */
export const linkInsecure = siteRule({
  id: 'link.insecure',
  severity: 'medium',
  title: 'Links lead to https by way of http',
  why: 'Whoever is between a visitor and the site can read and change the first request, and lead the visitor elsewhere.',
  fix: 'Write https:// in the links on the pages named here, or leave scheme and host out.',
  begin: (links) =>
    linkTargets(links, {
      isFault: isMovedToHttps,
      tell: ({ url, httpStatus, redirectUrl }) => ({ target: url, status: httpStatus, redirectUrl }),
    }),
});
