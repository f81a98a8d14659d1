import { randomUUID } from 'node:crypto';
import { request as nodeRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import { readScraped, type Scraped } from '#metrics/fixtures/scraped.ts';
import { createHttpObserver } from '#metrics/http.ts';
import { createMeter } from '#metrics/meter.ts';
import { createScrape } from '#metrics/scrape.ts';
import { systemTimers } from '#worker/timers.ts';
import { openEventStream } from './fixtures/event-stream.ts';
import { exchangeRaw, startHttp, type TestHttp, type TestHttpOptions } from './fixtures/http.ts';
import { run } from './graphql/fixtures/run.ts';
import { connected } from './graphql/fixtures/socket.ts';

type World = TestHttp & {
  readonly scrape: () => Promise<Scraped>;
  /** Scrapes until the metrics are as wanted: what a connection's end counts comes a moment after it. */
  readonly until: (wanted: (scraped: Scraped) => boolean) => Promise<void>;
};

async function withMetrics(use: (world: World) => Promise<void>, options: TestHttpOptions = {}): Promise<void> {
  const meter = createMeter('main');
  const http = await startHttp({ ...options, metrics: { observer: createHttpObserver(meter), scrape: createScrape({ meter }) } });
  const scrape = async (): Promise<Scraped> => readScraped((await http.call('GET', '/metrics')).text);
  try {
    await use({
      ...http,
      scrape,
      async until(wanted) {
        while (!wanted(await scrape())) await new Promise((resolve) => setImmediate(resolve));
      },
    });
  } finally {
    await http.close();
  }
}

const REQUESTS = 'crawlgate_http_request_duration_seconds';
const OPERATIONS = 'crawlgate_graphql_operations_total';
const WATCH = 'subscription ($id: ID) { crawlUpdated(id: $id) { id version } }';

describe('who may scrape', () => {
  it('is whoever has a key with the scope metrics', () =>
    withMetrics(async ({ call, newTenant }) => {
      const { secret } = await newTenant({ scopes: ['metrics'] });
      const { status, headers, text } = await call('GET', '/metrics', { secret });
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
        'private, no-store',
      ]);
      expect(text).toMatch(/^# HELP crawlgate_/);
      expect((await call('HEAD', '/metrics', { secret })).status).toBe(200);
    }));

  it('is nobody else, told by a problem', () =>
    withMetrics(async ({ call, newTenant }) => {
      const { secret } = await newTenant({ scopes: ['crawls:read', 'crawls:write', 'webhooks:write'] });
      const told = [
        await call('GET', '/metrics', { secret: null }),
        await call('GET', '/metrics', { secret: 'unknown' }),
        await call('GET', '/metrics', { secret }),
        await call('POST', '/metrics'),
      ];
      expect(told.map(({ status, json }) => [status, json.code])).toEqual([
        [401, 'unauthorized'],
        [401, 'unauthorized'],
        [403, 'insufficient_scope'],
        [405, 'method_not_allowed'],
      ]);
      for (const { headers } of told) expect(headers.get('content-type')).toBe('application/problem+json');
    }));

  it('counts towards no limit', () =>
    withMetrics(
      async ({ call }) => {
        for (let time = 0; time < 3; time++) expect((await call('GET', '/metrics')).status).toBe(200);
        const { headers } = await call('GET', '/v1/usage');
        expect(headers.get('ratelimit')).toContain('r=1;');
      },
      { readLimitPerMinute: 2 },
    ));

  it('is absent where nothing is counted', async () => {
    const http = await startHttp();
    expect((await http.call('GET', '/metrics')).status).toBe(404);
    await http.close();
  });
});

describe('while the store does not answer', () => {
  /** A clock that the test moves on, over timers that run. */
  function steppedClock() {
    let ahead = 0;
    const timers: Timers = { now: () => systemTimers.now() + ahead, after: systemTimers.after };
    return { timers, advance: (ms: number) => (ahead += ms) };
  }
  /** Answers no key once `away` is set. */
  function awayStore(answer: () => Promise<never>) {
    const state = { away: false };
    const wrapStore: TestHttpOptions['wrapStore'] = (store) => ({
      ...store,
      findKeyBySecret: (hash) => (state.away ? answer() : store.findKeyBySecret(hash)),
    });
    return { state, wrapStore };
  }

  it('a key that was admitted within 15 minutes is admitted, another one is told 503', async () => {
    const { timers, advance } = steppedClock();
    const { state, wrapStore } = awayStore(() => Promise.reject(unavailable('away')));
    await withMetrics(
      async ({ call, newTenant }) => {
        const other = await newTenant({ scopes: ['crawls:read'] });
        expect((await call('GET', '/metrics')).status).toBe(200);
        expect((await call('GET', '/metrics', { secret: other.secret })).status).toBe(403);
        state.away = true;
        advance(10 * 60_000);
        expect((await call('GET', '/metrics')).status).toBe(200);
        const refused = await call('GET', '/metrics', { secret: other.secret });
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
        advance(6 * 60_000);
        expect((await call('GET', '/metrics')).status).toBe(503);
      },
      { timers, wrapStore },
    );
  });

  it('one that hangs is not waited for longer than a scrape takes', async () => {
    const { timers, advance } = steppedClock();
    const { state, wrapStore } = awayStore(() => new Promise<never>(() => {}));
    await withMetrics(
      async ({ call }) => {
        await call('GET', '/metrics');
        state.away = true;
        advance(5_000);
        const began = performance.now();
        expect((await call('GET', '/metrics')).status).toBe(200);
        expect(performance.now() - began).toBeLessThan(20_000);
      },
      { timers, wrapStore },
    );
  });

  it('a key that was revoked before is refused', () =>
    withMetrics(async ({ call, store, tenant }) => {
      expect((await call('GET', '/metrics')).status).toBe(200);
      await store.revokeKey(tenant.keyId);
      let last = 200;
      while (last === 200) last = (await call('GET', '/metrics')).status;
      expect(last).toBe(401);
    }));
});

describe('what is counted', () => {
  it('requests by the template of their route, method and class of the status', () =>
    withMetrics(async ({ call, start, scrape }) => {
      const id = await start();
      await call('GET', `/v1/crawls/${id}`);
      await call('GET', `/v1/crawls/${randomUUID()}`);
      const scraped = await scrape();
      const count = (method: string, status: string, route: string) => scraped.value(REQUESTS, { method, status, route });
      expect(count('GET', '2xx', '/v1/crawls/{id}')).toBe(1);
      expect(count('GET', '4xx', '/v1/crawls/{id}')).toBe(1);
      expect(count('POST', '2xx', '/v1/crawls')).toBe(1);
    }));

  it('whatever paths, methods and documents arrive, in a bounded number of series', () =>
    withMetrics(async ({ call, port, tenant, scrape }) => {
      const series = (scraped: Scraped): number => scraped.families.reduce((sum, { samples }) => sum + samples.length, 0);
      const flood = async (round: string) => {
        for (let at = 0; at < 20; at++) {
          await call('GET', `/v1/crawls/${round}-${at}`);
          await call('DELETE', `/${round}/${at}`);
          await call('REPORT', `/v1/crawls/${round}${at}`);
          await exchangeRaw(port, `${round}${at} /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
          await call('POST', '/v1/crawls', { body: { url: `https://${round}${at}.example/"\n{} 1` } });
          await call('POST', '/graphql', { body: { query: `{ ${round}${at} }` } });
          await call('GET', '/metrics', { secret: `${round}${at}` });
        }
      };
      await flood('hostileone');
      await scrape(); // is a request, too
      const before = await scrape();
      await flood('hostiletwo');
      const after = await scrape();
      expect(series(after)).toBe(series(before));
      expect(after.valuesOf(REQUESTS, 'method')).toEqual(['DELETE', 'GET', 'POST', 'other']);
      expect(after.valuesOf(REQUESTS, 'route')).toEqual(['/graphql', '/metrics', '/v1/crawls', '/v1/crawls/{id}', 'none']);
      const { text } = await call('GET', '/metrics');
      for (const secret of ['hostile', tenant.secret, tenant.keyId, tenant.organizationId]) expect(text).not.toContain(secret);
    }));

  it('starts, accepted and refused, over REST and GraphQL', () =>
    withMetrics(async ({ call, start, scrape, newTenant }) => {
      for (let time = 0; time < 9; time++) await start();
      const query = 'mutation { startCrawl(input: { url: "https://example.com/" }) { crawl { id } } }';
      expect((await call('POST', '/graphql', { body: { query } })).json.errors).toBeUndefined();
      expect((await call('POST', '/v1/crawls', { body: { url: 'https://example.com/' } })).status).toBe(429);
      const poor = await newTenant({ quota: 0 });
      await call('POST', '/v1/crawls', { body: { url: 'https://example.com/' }, secret: poor.secret });
      const scraped = await scrape();
      const count = (outcome: string) => scraped.value('crawlgate_starts_total', { outcome });
      expect(['accepted', 'rate_limited', 'quota_exceeded'].map(count)).toEqual([10, 1, 1]);
    }));

  it('GraphQL operations over HTTP and WebSocket by type and outcome, each once', () =>
    withMetrics(async ({ call, start, port, tenant, scrape }) => {
      const id = await start();
      const post = (query: string, accept = '*/*') => call('POST', '/graphql', { body: { query }, headers: { accept } });
      await post('{ viewer { __typename } }');
      await post('{ viewer { __typename } }', 'application/json;q=0.9'); // by Yoga
      await post(`{ crawl(id: "${randomUUID()}") { id } } `);
      await post('mutation { cancelCrawl(input: { id: "x" }) { __typename } }');
      await post('{ nothing }');
      await post('{');
      const client = await connected(port, tenant.secret);
      await client.ended(client.subscribe('{ viewer { __typename } }'));
      await client.ended(client.subscribe('{ nothing }'));
      await client.values(client.subscribe(WATCH, { id }), 1);
      await client.ended(client.subscribe(WATCH, { id: 'x' }));
      const scraped = await scrape();
      const count = (type: string, outcome: string) => scraped.value(OPERATIONS, { type, outcome });
      expect([count('query', 'ok'), count('query', 'errors')]).toEqual([4, null]);
      expect(count('unknown', 'refused')).toBe(3);
      expect(count('mutation', 'errors')).toBe(1);
      expect([count('subscription', 'ok'), count('subscription', 'errors')]).toEqual([1, 1]);
      client.close();
    }));

  it('what is open, and what its watchers are given', () =>
    withMetrics(async (world) => {
      const { start, port, tenant, scrape, until } = world;
      const id = await start();
      const authorization = `Bearer ${tenant.secret}`;
      const open = (scraped: Scraped) =>
        ['websocket', 'subscription', 'graphql_sse', 'rest_sse'].map((kind) => scraped.value('crawlgate_streams_open', { kind }));
      const client = await connected(port, tenant.secret);
      const operation = client.subscribe(WATCH, { id });
      await client.values(operation, 1);
      const rest = await openEventStream(port, `/v1/crawls/${id}/updates`, { authorization });
      await rest.next();
      const sse = nodeRequest({ host: '127.0.0.1', port, path: '/graphql', method: 'POST', agent: false });
      for (const [name, value] of Object.entries({ accept: 'text/event-stream', 'content-type': 'application/json', authorization }))
        sse.setHeader(name, value);
      const answered = new Promise<AsyncIterable<Buffer>>((resolve) => sse.once('response', resolve));
      sse.end(JSON.stringify({ query: WATCH, variables: { id } }));
      const chunks = (await answered)[Symbol.asyncIterator]();
      for (let text = ''; !text.includes('data:'); ) text += String((await chunks.next()).value);
      expect(open(await scrape())).toEqual([1, 1, 1, 1]);

      const crawl = await run(world);
      await crawl.finish();
      await client.ended(operation);
      await rest.rest();
      sse.destroy();
      client.close();
      await until((scraped) => open(scraped).join() === '0,0,0,0');
      const scraped = await scrape();
      expect(scraped.value('crawlgate_updates_sent_total', { kind: 'subscription' })).toBe(client.of(operation).length - 1);
      expect(scraped.value('crawlgate_updates_sent_total', { kind: 'rest_sse' })).toBe(2);
      expect(scraped.value('crawlgate_streams_opened_total')).toBe(4);
      expect(scraped.value(REQUESTS, { route: '/v1/crawls/{id}/updates' })).toBeNull();
    }));
});
