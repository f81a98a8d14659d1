import { ipLiteralOf, isAllowedAddress } from '#domain/address.ts';
import type { Page } from '#domain/page.ts';

/** Ends of names that no public DNS answers: RFC 6761, RFC 6762, RFC 8375, ICANN's .internal, and what home routers use. */
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|test|invalid|internal|home\.arpa|lan)$/;

/** The host and port of an address as pages are stored, which is a serialized URL: cutting it out takes a fraction of parsing it. */
function authorityIn(url: string): string {
  const from = url.indexOf('//') + 2;
  const to = url.indexOf('/', from);
  return to < 0 ? url.slice(from) : url.slice(from, to);
}

const withoutWww = (authority: string): string => (authority.startsWith('www.') ? authority.slice(4) : authority);

/** Whether two stored addresses are of one host, with or without `www.`, by http or https. */
export const isSameHost = (one: string, other: string): boolean => withoutWww(authorityIn(one)) === withoutWww(authorityIn(other));

/** Whether an address by http leads to one of the same host by https. */
export const isMovedToHttps = ({ url, redirectUrl }: Pick<Page, 'url' | 'redirectUrl'>): boolean =>
  redirectUrl !== null && url.startsWith('http:') && redirectUrl.startsWith('https:') && isSameHost(url, redirectUrl);

/** Whether anybody may get to a host by its name: a public address, or a name that public DNS can have. */
export function isPublicHost(hostname: string): boolean {
  const literal = ipLiteralOf(hostname);
  if (literal !== null) return isAllowedAddress(literal, []);
  return hostname.includes('.') && !LOCAL_NAME.test(hostname);
}

/** `?page=2`, `/page/2/` and the like, as the common content management systems write them. */
const FURTHER_PAGE = /[?&](?:page|paged|pagenum|pg|offset|start)=\d+(?:&|$)|\/page[/-]?\d+\/?(?:\?|$)/i;

/** Whether an address is that of a further page of a list: it may well be called like the first one, and lie deeper. */
export const isFurtherPage = (url: string): boolean => FURTHER_PAGE.test(url);
