import { describe, expect, it } from 'vitest';
import { startHttp, type TestHttp } from './fixtures/http.ts';

async function withOrigins(corsOrigins: readonly string[], use: (http: TestHttp) => Promise<void>): Promise<void> {
  const http = await startHttp({ corsOrigins });
  try {
    await use(http);
  } finally {
    await http.close();
  }
}

const ORIGIN = 'https://app.example';
const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' };
const corsOf = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => name === 'vary' || name.startsWith('access-control-')));

describe('CORS', () => {
  it('is not spoken of unless origins are set', () =>
    withOrigins([], async ({ call }) => {
      const { status, headers } = await call('GET', '/v1/ping', { headers: { origin: ORIGIN } });
      expect([status, corsOf(headers)]).toEqual([200, {}]);
      expect((await call('OPTIONS', '/v1/ping', { secret: null, headers: { origin: ORIGIN, ...PREFLIGHT } })).status).toBe(401);
    }));

  it('lets a page of an origin that is set read the answer and its headers, errors too', () =>
    withOrigins([ORIGIN, 'http://localhost:3000'], async ({ call }) => {
      const expected = {
        vary: 'Origin',
        'access-control-allow-origin': ORIGIN,
        'access-control-expose-headers': 'ETag, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
      };
      expect(corsOf((await call('GET', '/v1/ping', { headers: { origin: ORIGIN } })).headers)).toEqual(expected);
      expect(corsOf((await call('GET', '/v1/ping', { secret: null, headers: { origin: ORIGIN } })).headers)).toEqual(expected);
    }));

  it('answers the preflight of an origin that is set, without a key', () =>
    withOrigins([ORIGIN], async ({ call }) => {
      const { status, headers } = await call('OPTIONS', '/v1/crawls', { secret: null, headers: { origin: ORIGIN, ...PREFLIGHT } });
      expect([status, corsOf(headers)]).toEqual([
        204,
        {
          vary: 'Origin',
          'access-control-allow-origin': ORIGIN,
          'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
          'access-control-allow-headers': 'authorization,content-type',
          'access-control-max-age': '7200',
        },
      ]);
    }));

  it('says nothing to other origins, and that the answer depends on the origin', () =>
    withOrigins([ORIGIN], async ({ call }) => {
      for (const origin of ['https://other.example', `${ORIGIN}:8443`, 'null', ORIGIN.toUpperCase()]) {
        const { headers } = await call('GET', '/v1/ping', { headers: { origin } });
        expect(corsOf(headers)).toEqual({ vary: 'Origin' });
        const preflight = await call('OPTIONS', '/v1/ping', { secret: null, headers: { origin, ...PREFLIGHT } });
        expect([preflight.status, corsOf(preflight.headers)]).toEqual([401, { vary: 'Origin' }]);
      }
    }));

  it('lets every origin in by *', () =>
    withOrigins(['*'], async ({ call }) => {
      const { headers } = await call('GET', '/v1/ping', { headers: { origin: 'null' } });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.has('vary')).toBe(false);
    }));

  it('holds for GraphQL, whichever way its answer takes', () =>
    withOrigins([ORIGIN], async ({ call, start, finish }) => {
      const preflight = await call('OPTIONS', '/graphql', { secret: null, headers: { origin: ORIGIN, ...PREFLIGHT } });
      expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, ORIGIN]);
      await start();
      const subscription = `subscription { crawlUpdated(id: "${await finish()}") { state } }`;
      for (const [query, accept] of [
        ['{ __typename }', '*/*'],
        ['{ __typename }', 'application/json;q=0.9'],
        ['{ nothing }', '*/*'],
        [subscription, 'text/event-stream'],
      ] as const) {
        const { headers, text } = await call('POST', '/graphql', { body: { query }, headers: { accept, origin: ORIGIN } });
        expect([text, headers.get('access-control-allow-origin'), headers.get('vary')]).toEqual([expect.any(String), ORIGIN, 'Origin']);
      }
      const refused = await call('POST', '/graphql', { secret: null, body: {}, headers: { origin: ORIGIN } });
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, ORIGIN]);
    }));

  it('lets a page read a stream of updates', () =>
    withOrigins([ORIGIN], async ({ call, start, finish }) => {
      const id = await start();
      await finish();
      const { status, headers, text } = await call('GET', `/v1/crawls/${id}/updates`, { headers: { origin: ORIGIN } });
      expect([status, headers.get('access-control-allow-origin')]).toEqual([200, ORIGIN]);
      expect(text).toContain('event: update');
    }));
});
