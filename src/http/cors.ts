import type { Exchange } from './exchange.ts';

/**
 * Lets pages of other origins in, by the Fetch standard's CORS protocol: adds to the headers of the answer what such a page needs, and
 * answers a preflight itself. Answers whether it has.
 */
export type AdmitOrigin = (exchange: Exchange) => boolean;

/** `*` stands for every origin. Keys are sent in a header and never by cookie, so that no origin gains a right by being let in. */
const EVERY_ORIGIN = '*';

const METHODS = 'GET, HEAD, POST, DELETE';
const EXPOSED = 'ETag, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id';
/** How long a browser may remember the answer to a preflight, in seconds; most keep it no longer than two hours. */
const MAX_AGE = '7200';

export function createAdmitOrigin(origins: readonly string[]): AdmitOrigin {
  const every = origins.includes(EVERY_ORIGIN);
  const admitted = new Set(origins);

  return ({ request, response, headers }) => {
    const { origin, 'access-control-request-method': method, 'access-control-request-headers': asked } = request.headers;
    if (!every) headers.Vary = 'Origin';
    if (origin === undefined || !(every || admitted.has(origin))) return false;
    headers['Access-Control-Allow-Origin'] = every ? EVERY_ORIGIN : origin;
    if (request.method !== 'OPTIONS' || method === undefined) {
      headers['Access-Control-Expose-Headers'] = EXPOSED;
      return false;
    }
    headers['Access-Control-Allow-Methods'] = METHODS;
    headers['Access-Control-Max-Age'] = MAX_AGE;
    if (asked !== undefined) headers['Access-Control-Allow-Headers'] = asked;
    response.writeHead(204, headers).end();
    return true;
  };
}
