import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { withGraphql } from './fixtures/graphql.ts';

const START = `mutation ($input: StartCrawlInput!) {
  startCrawl(input: $input) { crawl { id url maxUrls maxDepth state phase version } } }`;
const CANCEL = 'mutation ($input: CancelCrawlInput!) { cancelCrawl(input: $input) { crawl { id state endReason error } } }';
const DELETE = 'mutation ($input: DeleteCrawlInput!) { deleteCrawl(input: $input) { deletedCrawlId } }';
const URL = 'https://example.com/';

describe('startCrawl', () => {
  it('starts the crawl that REST reads', () =>
    withGraphql(async ({ data, call, published }) => {
      const { crawl } = (await data(START, { input: { url: URL } })).startCrawl;
      expect(crawl).toEqual({
        id: expect.any(String),
        url: URL,
        maxUrls: 500,
        maxDepth: 3,
        state: 'RUNNING',
        phase: 'QUEUED',
        version: 1,
      });
      expect((await call('GET', `/v1/crawls/${crawl.id}`)).json).toMatchObject({ id: crawl.id, state: 'running' });
      expect(published.map(({ id }) => id)).toEqual([crawl.id]);
      const most = (await data(START, { input: { url: URL, maxUrls: 2_000_000, maxDepth: 0 } })).startCrawl;
      expect(most.crawl).toMatchObject({ maxUrls: 10_000, maxDepth: 0 });
    }));

  it('names every wrong field', () =>
    withGraphql(async ({ errors }) => {
      const [error] = await errors(START, { input: { url: 'ftp://example.com/', maxUrls: 0, maxDepth: -1 } });
      expect(error).toMatchObject({ path: ['startCrawl'], extensions: { code: 'invalid_request' } });
      expect(error.extensions.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(['/url', '/maxUrls', '/maxDepth']);
    }));

  it('shares its ten starts a minute with REST, and tells of them beside the requests', () =>
    withGraphql(
      async ({ send, start, call }) => {
        for (let at = 0; at < 5; at++) await start();
        for (let at = 0; at < 5; at++) {
          const { headers, json } = await send(START, { input: { url: URL } });
          expect(json.errors).toBeUndefined();
          expect(headers.get('ratelimit')).toMatch(new RegExp(`^"requests";r=${99 - at};t=\\d+, "starts";r=${4 - at};t=\\d+$`));
          expect(headers.get('ratelimit-policy')).toBe('"requests";q=100;w=60, "starts";q=10;w=60');
        }
        const { status, headers, json } = await send(START, { input: { url: URL } });
        expect([status, json.data]).toEqual([200, null]);
        const { code, retryAfterSeconds } = json.errors[0].extensions;
        expect(code).toBe('rate_limited');
        expect(retryAfterSeconds).toBeGreaterThan(50);
        expect(retryAfterSeconds).toBeLessThanOrEqual(60);
        expect(headers.get('ratelimit')).toContain('"starts";r=0;');
        expect((await call('POST', '/v1/crawls', { body: { url: URL } })).status).toBe(429);
      },
      { readLimitPerMinute: 100 },
    ));

  it('repeats by its idempotency key, with REST too, and refuses another input under it', () =>
    withGraphql(async ({ data, errors, call }) => {
      const input = { url: URL, idempotencyKey: 'nightly' };
      const { crawl } = (await data(START, { input })).startCrawl;
      expect((await data(START, { input })).startCrawl.crawl.id).toBe(crawl.id);
      const byRest = await call('POST', '/v1/crawls', { body: { url: URL }, headers: { 'idempotency-key': 'nightly' } });
      expect(byRest.json.id).toBe(crawl.id);
      const [error] = await errors(START, { input: { ...input, maxUrls: 7 } });
      expect(error.extensions.code).toBe('idempotency_mismatch');
      for (const idempotencyKey of ['', 'ä', 'x'.repeat(256)]) {
        const [wrong] = await errors(START, { input: { url: URL, idempotencyKey } });
        expect(wrong.extensions).toEqual({
          code: 'invalid_request',
          errors: [{ detail: 'must be 1 to 255 printable ASCII characters', pointer: '/idempotencyKey' }],
        });
      }
    }));

  it('is refused when the quota is used up, and says when it is whole again', () =>
    withGraphql(async ({ newTenant, errors }) => {
      const { secret } = await newTenant({ quota: 0 });
      const [error] = await errors(START, { input: { url: URL } }, { secret });
      expect(error.extensions).toEqual({ code: 'quota_exceeded', resetsAt: expect.stringMatching(/-01T00:00:00\.000Z$/) });
    }));

  it('needs the scope crawls:write, as the others do', () =>
    withGraphql(async ({ newTenant, errors }) => {
      const { secret } = await newTenant({ scopes: ['crawls:read'] });
      for (const [query, input] of [
        [START, { url: URL }],
        [CANCEL, { id: randomUUID() }],
        [DELETE, { id: randomUUID() }],
      ] as const) {
        expect((await errors(query, { input }, { secret }))[0].extensions.code).toBe('insufficient_scope');
      }
    }));

  it('runs several in their order, each on its own', () =>
    withGraphql(async ({ send }) => {
      const { json } = await send(
        `mutation { a: startCrawl(input: { url: "${URL}" }) { crawl { id } } b: startCrawl(input: { url: "nonsense" }) { crawl { id } } }`,
      );
      expect(json.data).toBeNull(); // both payloads are non-null: one that fails takes the other along
      expect(json.errors).toMatchObject([{ path: ['b'], extensions: { code: 'invalid_request' } }]);
    }));
});

describe('cancelCrawl and deleteCrawl', () => {
  it('end a crawl, then remove it', () =>
    withGraphql(async ({ start, data, errors }) => {
      const id = await start();
      expect((await errors(DELETE, { input: { id } }))[0].extensions.code).toBe('crawl_not_final');
      expect((await data(CANCEL, { input: { id } })).cancelCrawl.crawl).toMatchObject({ id, state: 'FAILED', endReason: 'CANCELLED' });
      expect((await errors(CANCEL, { input: { id } }))[0].extensions.code).toBe('crawl_final');
      expect(await data(DELETE, { input: { id: id.toUpperCase() } })).toEqual({ deleteCrawl: { deletedCrawlId: id } });
      expect(await data('query ($id: ID!) { crawl(id: $id) { id } }', { id })).toEqual({ crawl: null });
    }));

  it("do not find what is not there, nor another organization's", () =>
    withGraphql(async ({ start, newTenant, errors }) => {
      const id = await start();
      const { secret } = await newTenant();
      for (const query of [CANCEL, DELETE]) {
        const told = await Promise.all([
          errors(query, { input: { id } }, { secret }),
          errors(query, { input: { id: randomUUID() } }),
          errors(query, { input: { id: 'nonsense' } }),
        ]);
        for (const [error] of told) expect(error).toEqual(told[0]?.[0]);
        expect(told[0]?.[0].extensions.code).toBe('not_found');
      }
    }));
});
