import { BLOCKED_PORTS, ipLiteralOf, isAllowedAddress, type Network } from './address.ts';
import { MAX_URL_LENGTH } from './page.ts';

/** RFC 1035 §2.3.4, in text and with the dot of the root. No longer one resolves. */
const MAX_HOST_LENGTH = 254;

/** A start URL, read and found acceptable. */
export type StartUrl = {
  /** WHATWG serialization without fragment: the identity of its page. */
  readonly url: string;
  readonly host: string;
  readonly authority: string;
};

/** The hostname without port; an IPv6 literal keeps its brackets. */
export const hostOf = (url: URL): string => url.hostname;
/** The hostname plus a non-default port. */
export const authorityOf = (url: URL): string => url.host;

/** Path and query of a page's URL as a request names them (RFC 9110 §7.1), an empty query included, which `search` leaves out. */
export const targetOf = ({ href, origin }: URL): string => href.slice(origin.length);

const isHttp = (url: URL): boolean => url.protocol === 'http:' || url.protocol === 'https:';

/** The port that a request to `url` goes to. */
export const portOf = (url: URL): number => (url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port));

/**
 * The identity of the page that `reference`, found on `base`, leads to: absolute http(s), no fragment, no credentials, at most
 * 2,048 characters. Null when it leads to no page.
 */
export function pageUrl(reference: string, base?: URL): URL | null {
  const url = URL.parse(reference, base?.href);
  if (url === null || !isHttp(url) || url.username !== '' || url.password !== '') return null;
  if (url.hash !== '') url.hash = '';
  else if (url.href.endsWith('#')) url.hash = '';
  return url.href.length > MAX_URL_LENGTH ? null : url;
}

/**
 * Reads a start URL as a client gave it. Answers what is wrong with it, as one sentence, when a crawl cannot start there:
 * relative, not http(s), with credentials, too long as a whole or in its host, a port that the Fetch Standard blocks, a literal non-public address.
 */
export function parseStartUrl(text: string, allowed: readonly Network[]): StartUrl | { readonly wrong: string } {
  if (text.length > MAX_URL_LENGTH) return { wrong: `must be at most ${MAX_URL_LENGTH} characters` };
  const url = URL.parse(text);
  if (url === null || url.hostname === '') return { wrong: 'must be an absolute http or https URL' };
  if (!isHttp(url)) return { wrong: `must be an http or https URL, not ${url.protocol}` };
  if (url.username !== '' || url.password !== '') return { wrong: 'must not contain credentials' };
  url.hash = '';
  if (url.href.length > MAX_URL_LENGTH) return { wrong: `must be at most ${MAX_URL_LENGTH} characters` };
  if (url.hostname.length > MAX_HOST_LENGTH) return { wrong: `must have a host name of at most ${MAX_HOST_LENGTH} characters` };
  if (BLOCKED_PORTS.has(portOf(url))) return { wrong: `must not use port ${portOf(url)}, which the Fetch Standard blocks` };
  const literal = ipLiteralOf(url.hostname);
  if (literal !== null && !isAllowedAddress(literal, allowed)) return { wrong: `must not be the non-public address ${url.hostname}` };
  return { url: url.href, host: hostOf(url), authority: authorityOf(url) };
}
