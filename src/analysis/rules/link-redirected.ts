import type { Page } from '#domain/page.ts';
import { isMovedToHttps, isSameHost } from '../addresses.ts';
import { linkTargets } from '../link-targets.ts';
import { siteRule } from '../rule.ts';

/**
 * Moved for good, within the site. A temporary redirect, such as to a login, is meant to be linked to, and so is one that leads to
 * another site by way of this one. From http to https is told by `link.insecure`.
 */
function hasMoved(page: Page): boolean {
  const { url, httpStatus, redirectUrl } = page;
  if (redirectUrl === null || (httpStatus !== 301 && httpStatus !== 308)) return false;
  return isSameHost(url, redirectUrl) && !isMovedToHttps(page);
}

export const linkRedirected = siteRule({
  id: 'link.redirected',
  severity: 'low',
  title: 'Links lead to a page that has moved',
  why: 'Each visitor who follows the link waits for one more request, and search engines make one visit more to find the page.',
  fix: 'Link to the new address on the pages named here.',
  begin: (links) =>
    linkTargets(links, {
      isFault: hasMoved,
      tell: ({ url, httpStatus, redirectUrl }) => ({ target: url, status: httpStatus, redirectUrl }),
    }),
});
