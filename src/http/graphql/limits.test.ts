import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { exchangeRaw } from '../fixtures/http.ts';
import { WAYS, withGraphql } from './fixtures/graphql.ts';

const aliases = (count: number): string => Array.from({ length: count }, (_, at) => `a${at}: __typename`).join(' ');

describe.each(WAYS)('limits, the %s way', (way) => {
  const CASES: readonly [name: string, query: string, variables: object, message: string][] = [
    ['tokens', `{ ${'__typename '.repeat(2_000)} }`, {}, 'The document has 2002 tokens; at most 2000 are allowed.'],
    [
      '10,000 aliases',
      `{viewer{apiKey{${Array.from({ length: 10_000 }, (_, at) => `a${at}:id`).join(' ')}}}}`,
      {},
      'The document has 30008 tokens; at most 2000 are allowed.',
    ],
    [
      'fields of one name, which validation compares each with each',
      `{ ${'crawls { edges { node { id } } } '.repeat(180)} }`,
      {},
      'The document has 180 fields called crawls; at most 50 are allowed.',
    ],
    ['aliases', `{ ${aliases(51)} }`, {}, 'The operation has 51 aliases; at most 50 are allowed.'],
    [
      'aliases by fragments',
      `{ ...A a: __typename } fragment A on Query { ${aliases(25)} ...B ...C } fragment B on Query { ...C } fragment C on Query { ${aliases(13)} }`,
      {},
      'The operation has 52 aliases; at most 50 are allowed.',
    ],
    [
      'aliases inside introspection',
      `{ __schema { types { fields { ${aliases(51)} } } } }`,
      {},
      'The operation has 51 aliases; at most 50 are allowed.',
    ],
    [
      'cost',
      '{ a: crawls(first: 200) { ...Page } b: crawls(last: 200) { ...Page } c: crawls(first: 200) { ...Page } d: crawls(first: 200) { ...Page } } fragment Page on CrawlConnection { edges { node { site { id } } } }',
      {},
      'The operation costs 2404 points; at most 2000 are allowed.',
    ],
    [
      'cost by variables',
      'query ($n: Int = 1) { a: crawls(first: $n) { ...P } b: crawls(first: $n) { ...P } c: crawls(first: $n) { ...P } d: crawls(first: $n) { ...P } } fragment P on CrawlConnection { edges { node { site { id } } } }',
      { n: 1_000_000 },
      'The operation costs 2404 points; at most 2000 are allowed.',
    ],
  ];

  it.each(CASES)('refuse too many %s, naming limit and value', (_name, query, variables, message) =>
    withGraphql(async ({ send }) => {
      const { status, json } = await send(query, { ...variables }, { way });
      expect(status).toBe(400);
      expect(json).toEqual({ errors: [{ message, extensions: { code: 'invalid_request' } }] });
    }),
  );

  it('refuse a query that is too deep', () =>
    withGraphql(
      async ({ send }) => {
        const query = '{ crawls { edges { node { site { id } } } } }';
        expect((await send(query, {}, { way })).json.errors[0].message).toBe('The operation is 5 levels deep; at most 4 are allowed.');
        expect((await send('{ crawls { edges { node { id } } } }', {}, { way })).json.errors).toBeUndefined();
        const byFragments =
          '{ ...A } fragment A on Query { crawls { ...B } } fragment B on CrawlConnection { edges { node { site { id } } } }';
        expect((await send(byFragments, {}, { way })).json.errors[0].message).toContain('is 5 levels deep');
      },
      { graphqlLimits: { maxDepth: 4 } },
    ));

  it('measure the operation that is executed, with the variables that it gets', () =>
    withGraphql(async ({ send }) => {
      const query = `query Small { __typename } query Large { ${aliases(51)} } query Sized($n: Int) { crawls(first: $n) { ...P } x: crawls(first: $n) { ...P } y: crawls(first: $n) { ...P } z: crawls(first: $n) { ...P } } fragment P on CrawlConnection { edges { node { site { id } } } }`;
      const refused = async (operationName: string, variables = {}) =>
        (await send(query, variables, { way, operationName })).json.errors?.[0].message;
      expect(await refused('Small')).toBeUndefined();
      expect(await refused('Large')).toContain('51 aliases');
      expect(await refused('Sized', { n: 10 })).toBeUndefined();
      expect(await refused('Sized', { n: 200 })).toContain('costs 2404');
      expect(await refused('Sized', { n: 10 })).toBeUndefined();
    }));

  it('take no longer for fragments that use each other over and over', () =>
    withGraphql(async ({ send }) => {
      const links = Array.from({ length: 60 }, (_, at) => `fragment F${at} on Query { ...F${at + 1} ...F${at + 1} }`).join(' ');
      const query = `{ ...F0 } ${links} fragment F60 on Query { __typename a: __typename }`;
      const began = performance.now();
      expect((await send(query, {}, { way })).json.errors[0].message).toMatch(/aliases; at most 50 are allowed/);
      expect(performance.now() - began).toBeLessThan(15_000); // of two to the sixtieth steps
    }));

  it('refuse circular fragments', () =>
    withGraphql(async ({ errors }) => {
      const told = await errors('{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }', {}, { way });
      expect(told).toMatchObject([
        { message: 'Cannot spread fragment "A" within itself via "B".', extensions: { code: 'invalid_request' } },
      ]);
    }));

  it('refuse a body that is too long, by its declared and by its true length', () =>
    withGraphql(async ({ send, port, tenant }) => {
      const { status, json, headers } = await send('{ __typename }', { huge: 'x'.repeat(100 * 1024) }, { way });
      expect(status).toBe(413);
      expect(headers.get('connection')).toBe('close');
      expect(json.errors).toEqual([
        {
          message: expect.stringMatching(/^The body is 10\d{4} bytes long; at most 102400 are allowed\.$/),
          extensions: { code: 'payload_too_large' },
        },
      ]);
      const chunk = `${(8 * 1024).toString(16)}\r\n${' '.repeat(8 * 1024)}\r\n`;
      const answer = await exchangeRaw(
        port,
        `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.secret}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}`,
      );
      expect(answer).toMatch(/^HTTP\/1\.1 413 /);
      expect(answer).toContain('The body is more than 102400 bytes long; at most 102400 are allowed.');
    }));

  it('let introspection through, and its own bound stops its nesting', () =>
    withGraphql(async ({ data, errors }) => {
      const { __schema } = await data(getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true }), {}, { way });
      expect(__schema.queryType.name).toBe('Query');
      const nested = '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }';
      expect((await errors(nested, {}, { way }))[0].extensions.code).toBe('invalid_request');
    }));

  it('refuse introspection where it is turned off, and give no hints then', () =>
    withGraphql(
      async ({ errors, data }) => {
        expect((await errors('{ __schema { queryType { name } } }', {}, { way }))[0]).toMatchObject({
          message: expect.stringContaining('introspection has been disabled'),
          extensions: { code: 'invalid_request' },
        });
        expect((await errors('{ crawlz { id } }', {}, { way }))[0].message).toBe('Cannot query field "crawlz" on type "Query".');
        expect(await data('{ __typename }', {}, { way })).toEqual({ __typename: 'Query' });
      },
      { graphqlLimits: { introspection: false } },
    ));

  it('refuse a batch', () =>
    withGraphql(async ({ call }) => {
      const { status, json } = await call('POST', '/graphql', { body: [{ query: '{ __typename }' }, { query: '{ __typename }' }] });
      expect(status).toBe(400);
      expect(json.errors).toMatchObject([{ message: 'Batching is not supported.', extensions: { code: 'invalid_request' } }]);
    }));
});
