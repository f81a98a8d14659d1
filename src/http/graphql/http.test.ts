import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '#store/store.ts';
import { exchangeRaw, startHttp, type TestHttp } from '../fixtures/http.ts';
import { countingStore, WAYS, withGraphql } from './fixtures/graphql.ts';

const CRAWL = 'query ($id: ID!) { crawl(id: $id) { id host state urlsCrawled findingsCount error } }';

describe('GraphQL over HTTP', () => {
  const audits = serverAudits({ url: 'http://none.invalid/' }).map(({ id, name }) => [id, name] as const);

  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp();
  });
  afterAll(() => http.close());

  it.each(audits)('%s: %s', async (id) => {
    const fetchFn = (url: string, init: RequestInit = {}) =>
      fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${http.tenant.secret}` } });
    const result = await serverAudits({ url: `${http.address}/graphql`, fetchFn })
      .find((each) => each.id === id)
      ?.fn();
    expect(result, result !== undefined && 'reason' in result ? String(result.reason) : '').toMatchObject({ status: 'ok' });
  });
});

describe.each(WAYS)('an answer, the %s way', (way) => {
  it('has the headers of every answer, and its line in the log', () =>
    withGraphql(
      async ({ send, start, logged, tenant }) => {
        const id = await start();
        const { status, headers, json } = await send(CRAWL, { id }, { way });
        expect(status).toBe(200);
        expect(json).toEqual({
          data: { crawl: { id, host: 'example.com', state: 'RUNNING', urlsCrawled: 0, findingsCount: null, error: null } },
        });
        expect(headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
        expect(headers.get('x-content-type-options')).toBe('nosniff');
        expect(headers.get('cache-control')).toBe('private, no-cache');
        expect(headers.get('ratelimit-policy')).toBe('"requests";q=50;w=60');
        expect(headers.get('ratelimit')).toMatch(/^"requests";r=49;t=\d+$/);
        const line = logged.find(({ requestId, msg }) => msg === 'request' && requestId === headers.get('x-request-id'));
        expect(line).toMatchObject({ method: 'POST', route: '/graphql', status: 200, organizationId: tenant.organizationId });
      },
      { readLimitPerMinute: 50 },
    ));

  it('masks what went wrong inside, and logs it with the request id', () => {
    const wrapStore = (store: Store): Store => ({ ...store, getCrawl: () => Promise.reject(new Error('secret detail at /srv/store.db')) });
    return withGraphql(
      async ({ send, start, logged }) => {
        const { text, json, headers } = await send(CRAWL, { id: await start() }, { way });
        const requestId = headers.get('x-request-id');
        expect(json.data).toEqual({ crawl: null });
        expect(json.errors).toEqual([
          {
            message: 'The request failed by a defect of the service. The log has more under this request id.',
            locations: [{ line: 1, column: 20 }],
            path: ['crawl'],
            extensions: { code: 'internal_error', requestId },
          },
        ]);
        expect(text).not.toContain('secret detail');
        const lines = logged.filter((line) => line.msg === 'unexpected error');
        expect(lines).toMatchObject([{ requestId, err: { message: 'secret detail at /srv/store.db' } }]);
      },
      { wrapStore },
    );
  });

  it('tells what is wrong with a document and its variables, with its place', () =>
    withGraphql(async ({ errors }) => {
      const CASES = [
        ['{', {}, /^Syntax Error: Expected Name, found <EOF>/],
        ['', {}, /^Syntax Error/],
        ['{ crawlz { id } }', {}, /^Cannot query field "crawlz" on type "Query"\. Did you mean "crawl" or "crawls"\?/],
        [CRAWL, {}, /^Variable "\$id" /],
        [CRAWL, { id: { deep: true } }, /^Variable "\$id" /],
        ['query ($id: ID! = "x") { crawl(id: $id) { id } }', { id: null }, /\$id/],
        ['query ($n: Int) { crawls(first: $n) { totalCount } }', { n: 'many' }, /^Variable "\$n" /],
      ] as const;
      for (const [query, variables, message] of CASES) {
        const [error] = await errors(query, variables, { way });
        expect(error.message).toMatch(message);
        expect(error.extensions).toEqual({ code: 'invalid_request' });
      }
      const both = await errors('{ a b }', {}, { way });
      expect(both.map(({ locations }) => locations)).toEqual([[{ line: 1, column: 3 }], [{ line: 1, column: 5 }]]);
    }));

  it('needs a key that is known', () =>
    withGraphql(async ({ send, logged }) => {
      for (const secret of [null, 'unknown-secret']) {
        const { status, headers, json } = await send('{ __typename }', {}, { way, secret });
        expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
        expect(headers.get('content-type')).toBe('application/graphql-response+json; charset=utf-8');
        expect(json).toEqual({ errors: [{ message: expect.any(String), extensions: { code: 'unauthorized' } }] });
      }
      expect(JSON.stringify(logged)).not.toContain('unknown-secret');
    }));

  it('is refused beyond the requests a minute that REST counts too', () =>
    withGraphql(
      async ({ send, call }) => {
        expect((await call('GET', '/v1/ping')).status).toBe(200);
        expect((await send('{ __typename }', {}, { way })).status).toBe(200);
        const { status, headers, json } = await send('{ __typename }', {}, { way });
        expect(status).toBe(429);
        expect(json.errors[0].extensions).toEqual({ code: 'rate_limited', retryAfterSeconds: Number(headers.get('retry-after')) });
        expect(headers.get('ratelimit')).toMatch(/^"requests";r=0;/);
        expect((await call('GET', '/v1/ping')).status).toBe(429);
      },
      { readLimitPerMinute: 2 },
    ));
});

describe('the two ways', () => {
  it('are two: what has errors is run again by Yoga', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async ({ send, newTenant }) => {
        const { secret } = await newTenant({ scopes: ['crawls:read'] });
        const query = '{ viewer { organization { name } } crawls(first: -1) { totalCount } }';
        for (const [way, reads] of [
          ['plain', 2],
          ['yoga', 1],
        ] as const) {
          counts.clear();
          expect((await send(query, {}, { way, secret })).json.errors[0].extensions.code).toBe('invalid_request');
          expect(counts.get('findOrganization')).toBe(reads);
        }
      },
      { wrapStore },
    );
  });

  it('answer a query alike, whatever JSON it comes in', () =>
    withGraphql(async ({ call, start }) => {
      const id = await start();
      const BODIES = [
        { query: CRAWL, variables: { id } },
        { query: CRAWL, variables: { id }, operationName: null },
        { query: `query A { __typename } ${CRAWL.replace('query', 'query B')}`, variables: { id }, operationName: 'B' },
        { query: `query A { __typename } ${CRAWL.replace('query', 'query B')}`, variables: { id } },
        { query: CRAWL, variables: [id] },
        { query: CRAWL, variables: { id }, extensions: { any: 1 } },
        { query: CRAWL, variables: { id }, extra: 1 },
        { query: CRAWL, variables: { id, extra: 1 } },
        { query: 7 },
        {},
        null,
        'text',
        '{"query": "{ __typename }", "__proto__": {"query": "x"}}',
        '{"query": "query ($id: ID!) { crawl(id: $id) { id } }", "variables": {"__proto__": {"id": "x"}}}',
        '\ufeff{"query":"{ __typename }"}',
      ];
      for (const body of BODIES) {
        const sent = body === null || typeof body === 'string' ? String(body) : body;
        const [plain, yoga] = await Promise.all(
          ['application/json', 'application/json;q=0.9'].map((accept) =>
            call('POST', '/graphql', { body: sent, headers: { accept, 'content-type': 'application/json' } }),
          ),
        );
        expect([plain?.status, plain?.json], JSON.stringify(body)).toEqual([yoga?.status, yoga?.json]);
      }
    }));
});

describe('a request that is none', () => {
  it('is answered as what it is', () =>
    withGraphql(async ({ call, port, tenant }) => {
      const refused = async (...args: Parameters<typeof call>) => {
        const { status, json, headers } = await call(...args);
        return [status, json?.errors[0].extensions.code, headers.get('allow')];
      };
      expect(await refused('PUT', '/graphql', { body: {} })).toEqual([405, 'method_not_allowed', 'GET, POST']);
      expect(await refused('DELETE', '/graphql')).toEqual([405, 'method_not_allowed', 'GET, POST']);
      expect(await refused('GET', '/graphql?query=mutation{cancelCrawl(input:{id:1}){crawl{id}}}')).toEqual([
        405,
        'method_not_allowed',
        'POST',
      ]);
      for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/jsonx', 'text/html,application/json', ' '])
        expect(await refused('POST', '/graphql', { body: '{"query":"{__typename}"}', headers: { 'content-type': type } })).toEqual([
          415,
          'unsupported_media_type',
          null,
        ]);
      const asForm = { body: 'query={__typename}', headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' } };
      expect((await call('POST', '/graphql', asForm)).json).toEqual({ data: { __typename: 'Query' } });
      expect(await refused('POST', '/graphql', { body: '', headers: { 'content-type': 'application/json' } })).toEqual([
        400,
        'invalid_request',
        null,
      ]);
      expect(await refused('POST', '/graphql', { body: Buffer.from([0x7b, 0xff, 0x7d]) })).toEqual([400, 'invalid_request', null]);
      expect(await refused('POST', '/graphql', { body: {}, headers: { 'content-encoding': 'gzip' } })).toEqual([
        415,
        'unsupported_media_type',
        null,
      ]);
      expect((await call('GET', '/graphql/health')).status).toBe(404);
      expect((await call('GET', '/graphql?x=/health')).json.errors[0].extensions.code).toBe('invalid_request');
      const odd = await exchangeRaw(
        port,
        `GET /graphql?query={__typename} HTTP/1.1\r\nHost: [\r\nAuthorization: Bearer ${tenant.secret}\r\nConnection: close\r\n\r\n`,
      );
      expect(odd).toMatch(/^HTTP\/1\.1 400 /);
      expect(odd).not.toContain('node_modules');
    }));

  it('by GET never changes anything, whatever it accepts', () =>
    withGraphql(async ({ call }) => {
      const start = encodeURIComponent('mutation { startCrawl(input: { url: "https://example.com/" }) { crawl { id } } }');
      for (const accept of ['*/*', 'application/json', 'application/graphql-response+json', 'text/event-stream', 'text/html']) {
        const { text } = await call('GET', `/graphql?query=${start}`, { headers: { accept } });
        expect(text).not.toContain('startCrawl":{');
      }
      await call('POST', `/graphql?query=${start}`, { body: {} });
      expect((await call('GET', '/v1/crawls')).json.data).toEqual([]);
    }));

  it('by GET reads a query from the address', () =>
    withGraphql(async ({ call }) => {
      expect((await call('GET', '/graphql?query=%7B__typename%7D')).json).toEqual({ data: { __typename: 'Query' } });
      expect((await call('GET', '/graphql?query=%7B__typename%7D&variables=%7B')).json.errors[0].extensions.code).toBe('invalid_request');
    }));
});
