import type { Page } from '#domain/page.ts';
import { isPublicHost } from '../addresses.ts';
import { groupPages } from '../group-pages.ts';
import { siteRule } from '../rule.ts';

/** The authority that an HTML page was served from without encryption, unless only this machine or network gets there; else null. */
function insecureAuthority({ url, httpStatus, facts }: Page): string | null {
  if (httpStatus !== 200 || facts === null || !url.startsWith('http:')) return null;
  const { host, hostname } = new URL(url);
  return isPublicHost(hostname) ? host : null;
}

/** One finding a host and port. */
export const siteInsecure = siteRule({
  id: 'site.insecure',
  severity: 'high',
  title: 'Pages are served without encryption',
  why: 'Browsers tell visitors that the site is not secure, and whoever is between them and the site can read and change its pages.',
  fix: 'Serve the site by https, and redirect each http address to the same one with https.',
  identifiedBy: ['host'],
  begin: () => groupPages({ by: insecureAuthority, atLeast: 1, tell: (first) => ({ host: insecureAuthority(first) }) }),
});
