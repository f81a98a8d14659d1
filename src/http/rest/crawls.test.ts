import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttp, type Tenant, type TestHttp } from '../fixtures/http.ts';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.close());

describe('POST /v1/crawls', () => {
  it('answers 202 with the id and the address, which Location repeats', async () => {
    const { secret } = await http.newTenant();
    const { status, json, headers } = await http.call('POST', '/v1/crawls', { secret, body: { url: 'https://example.com' } });
    expect(status).toBe(202);
    expect(json).toStrictEqual({ id: expect.stringMatching(UUID), url: `/v1/crawls/${json.id}` });
    expect(headers.get('location')).toBe(json.url);
  });

  it('stores the crawl with the defaults and publishes it', async () => {
    const { secret, organizationId } = await http.newTenant();
    const id = await http.start({ url: 'https://example.com/a#part' }, { secret });
    const stored = await http.store.getCrawl(organizationId, id);
    expect(stored).toMatchObject({ url: 'https://example.com/a', host: 'example.com', maxUrls: 500, maxDepth: 3, state: 'running' });
    expect(http.published).toContainEqual(stored);
  });

  it('clamps maxUrls above 10,000, whole numbers of any size included', async () => {
    const { secret, organizationId } = await http.newTenant();
    for (const maxUrls of [10_001, 1e20]) {
      const id = await http.start({ maxUrls, maxDepth: 0 }, { secret });
      expect(await http.store.getCrawl(organizationId, id)).toMatchObject({ maxUrls: 10_000, maxDepth: 0 });
    }
  });

  it('takes a maxDepth of any size', async () => {
    await http.start({ maxDepth: 1e20 }, { secret: (await http.newTenant()).secret });
  });

  it('takes a content type with the charset UTF-8, and an address inside an allowed network', async () => {
    const { secret } = await http.newTenant();
    const headers = { 'content-type': 'Application/JSON; charset="UTF-8"' };
    await http.start({ url: 'http://10.1.2.3/' }, { secret, headers });
  });

  it('answers a repeat with the same Idempotency-Key as the first, and uses up no start', async () => {
    const { secret } = await http.newTenant();
    const options = { secret, headers: { 'idempotency-key': 'x'.repeat(255) }, body: { url: 'https://example.com/' } };
    const first = await http.call('POST', '/v1/crawls', options);
    const second = await http.call('POST', '/v1/crawls', options);
    expect(second.status).toBe(202);
    expect(second.json).toStrictEqual(first.json);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect(second.headers.get('ratelimit')).toMatch(/^"starts";r=9;/);
  });

  it('answers the same Idempotency-Key with another request 422', async () => {
    const { secret } = await http.newTenant();
    const headers = { 'idempotency-key': 'nightly' };
    await http.start({ maxUrls: 5 }, { secret, headers });
    const { status, json } = await http.call('POST', '/v1/crawls', { secret, headers, body: { url: 'https://example.com/', maxUrls: 6 } });
    expect([status, json.code]).toStrictEqual([422, 'idempotency_mismatch']);
  });

  it('keeps the Idempotency-Keys of organizations apart', async () => {
    const headers = { 'idempotency-key': 'nightly' };
    const ids = await Promise.all([1, 2].map(async () => http.start({}, { headers, secret: (await http.newTenant()).secret })));
    expect(new Set(ids).size).toBe(2);
  });
});

describe('GET /v1/crawls', () => {
  let tenant: Tenant;
  let ids: string[];
  beforeAll(async () => {
    tenant = await http.newTenant();
    ids = [];
    for (const url of ['https://a.example/', 'https://b.example/', 'https://a.example/2', 'https://a.example/3']) {
      ids.push(await http.start({ url }, { secret: tenant.secret }));
    }
  });
  const list = (query: string) => http.call('GET', `/v1/crawls${query}`, { secret: tenant.secret });

  it('answers exactly the fields of the contract', async () => {
    const { status, json } = await list('?limit=1');
    expect(status).toBe(200);
    expect(json).toStrictEqual({
      data: [
        {
          id: ids[3],
          host: 'a.example',
          state: 'running',
          urlsCrawled: 0,
          findingsCount: null,
          startedAt: expect.stringMatching(TIME),
          finishedAt: null,
        },
      ],
      nextCursor: expect.any(String),
    });
  });

  it('gives every crawl once over the parts, by startedAt and id descending, and null at the end', async () => {
    const seen: { id: string; startedAt: string }[] = [];
    let cursor: string | null = null;
    let parts = 0;
    do {
      const { json } = await list(`?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`);
      seen.push(...json.data);
      cursor = json.nextCursor;
      parts++;
    } while (cursor !== null);
    expect(parts).toBe(2);
    expect(seen.map(({ id }) => id).sort()).toStrictEqual([...ids].sort());
    const order = seen.map(({ startedAt, id }) => `${startedAt} ${id}`);
    expect(order).toStrictEqual([...order].sort().reverse());
  });

  it('filters by site and state', async () => {
    const sites = (await http.call('GET', '/v1/sites', { secret: tenant.secret })).json.data;
    const { id } = sites.find(({ host }: { host: string }) => host === 'b.example');
    expect((await list(`?siteId=${id.toUpperCase()}&state=running`)).json.data.map((crawl: { id: string }) => crawl.id)).toStrictEqual([
      ids[1],
    ]);
    expect((await list('?state=done')).json).toStrictEqual({ data: [], nextCursor: null });
  });

  it('lists nothing for a site that is unknown, and for a site of another organization', async () => {
    const other = await http.newTenant();
    await http.start({ url: 'https://a.example/' }, { secret: other.secret });
    const [site] = (await http.call('GET', '/v1/sites', { secret: other.secret })).json.data;
    for (const id of [randomUUID(), site.id]) expect((await list(`?siteId=${id}`)).json.data).toStrictEqual([]);
  });

  it('clamps a limit above 200', async () => {
    for (const limit of ['201', '9'.repeat(400)]) expect((await list(`?limit=${limit}`)).json.data).toHaveLength(4);
  });

  it.each(['cursor=', 'cursor=abc', `cursor=${'a'.repeat(5_000)}`, 'cursor=%00'])('refuses a foreign cursor: %.20s', async (query) => {
    const { status, json } = await list(`?${query}`);
    expect([status, json.code]).toStrictEqual([400, 'invalid_cursor']);
    expect(json.errors).toStrictEqual([{ parameter: 'cursor', detail: expect.any(String) }]);
  });

  it('refuses a cursor that was edited, or comes from another filter, list or organization', async () => {
    const { nextCursor } = (await list('?limit=1')).json;
    const edited = Buffer.from(Buffer.from(nextCursor, 'base64url').toString().replace(/\d\d,/, '00,')).toString('base64url');
    const other = await http.newTenant();
    const refused = [
      await list(`?limit=1&cursor=${edited}`),
      await list(`?limit=1&state=running&cursor=${nextCursor}`),
      await http.call('GET', `/v1/sites?cursor=${nextCursor}`, { secret: tenant.secret }),
      await http.call('GET', `/v1/crawls?cursor=${nextCursor}`, { secret: other.secret }),
    ];
    for (const { status, json } of refused) expect([status, json.code]).toStrictEqual([400, 'invalid_cursor']);
  });
});

describe('GET /v1/crawls/{id}', () => {
  it('answers exactly the six fields, while it runs and when it is done', async () => {
    const { secret } = await http.newTenant();
    const lone = await startHttp(); // its own store, so that `finish` claims this very crawl
    try {
      const id = await lone.start();
      const path = `/v1/crawls/${id}`;
      const running = { id, host: 'example.com', state: 'running', urlsCrawled: 0, findingsCount: null, error: null };
      expect((await lone.call('GET', path)).json).toStrictEqual(running);
      await lone.finish([{}, { httpStatus: 404 }, { status: 'failed', httpStatus: null, facts: null, reason: 'It was refused.' }]);
      expect((await lone.call('GET', path)).json).toStrictEqual({ ...running, state: 'done', urlsCrawled: 2, findingsCount: 0 });
      expect((await lone.call('GET', path, { secret })).status).toBe(401);
    } finally {
      await lone.close();
    }
  });

  it('takes an id in upper case', async () => {
    const id = await http.start({}, await http.newTenant().then(({ secret }) => ({ secret })));
    expect((await http.call('GET', `/v1/crawls/${id.toUpperCase()}`)).status).toBe(404); // another organization's, and still read
    const own = await http.newTenant();
    const ownId = await http.start({}, { secret: own.secret });
    expect((await http.call('GET', `/v1/crawls/${ownId.toUpperCase()}`, { secret: own.secret })).json.id).toBe(ownId);
  });

  it("answers another organization's crawl like one that does not exist", async () => {
    const stranger = await http.newTenant();
    const id = await http.start({}, { secret: (await http.newTenant()).secret });
    const told = async (path: string) => {
      const { status, json } = await http.call('GET', path, { secret: stranger.secret });
      return { status, body: { ...json, instance: null } };
    };
    const missing = await told(`/v1/crawls/${randomUUID()}`);
    expect(missing.status).toBe(404);
    for (const rest of ['', '/pages', '/findings']) expect(await told(`/v1/crawls/${id}${rest}`)).toStrictEqual(missing);
    for (const [method, path] of [
      ['DELETE', ''],
      ['POST', '/cancel'],
    ] as const) {
      const { status, json } = await http.call(method, `/v1/crawls/${id}${path}`, { secret: stranger.secret });
      expect({ status, body: { ...json, instance: null } }).toStrictEqual(missing);
    }
  });

  it.each(['no-uuid', '1', '%00', '%zz', '00000000-0000-0000-0000-00000000000g', `${randomUUID()}0`])(
    'answers the id %s 404',
    async (id) => {
      for (const rest of ['', '/pages', '/findings']) {
        const { status, json } = await http.call('GET', `/v1/crawls/${id}${rest}`);
        expect([status, json.code]).toStrictEqual([404, 'not_found']);
      }
    },
  );

  it('answers trailing and unknown paths 404', async () => {
    const { secret } = await http.newTenant();
    const id = await http.start({}, { secret });
    for (const path of [
      `/v1/crawls/${id}/`,
      `/v1/crawls/${id}/nothing`,
      '/v1/crawls/',
      '/v1/ping/',
      '/v1/',
      '/v1',
      '/v1/crawl',
      '/V1/ping',
      '//v1/ping',
    ]) {
      expect([path, (await http.call('GET', path, { secret })).status]).toStrictEqual([path, 404]);
    }
  });

  it('has a weak ETag that changes with the version, and answers If-None-Match 304', async () => {
    const { secret } = await http.newTenant();
    const path = `/v1/crawls/${await http.start({}, { secret })}`;
    const first = await http.call('GET', path, { secret });
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[^"]+"$/);
    for (const match of [etag, etag.slice(2), '*', `"other", ${etag}`, `W/"a,b" ,${etag.slice(2)}`]) {
      const { status, text, headers } = await http.call('GET', path, { secret, headers: { 'if-none-match': match } });
      expect([match, status, text, headers.get('etag')]).toStrictEqual([match, 304, '', etag]);
    }
    for (const match of ['W/"other"', '"x', etag.replaceAll('"', ''), '']) {
      expect([match, (await http.call('GET', path, { secret, headers: { 'if-none-match': match } })).status]).toStrictEqual([match, 200]);
    }
    await http.call('POST', `${path}/cancel`, { secret });
    const changed = await http.call('GET', path, { secret, headers: { 'if-none-match': etag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get('etag')).not.toBe(etag);
  });

  it('answers HEAD like GET, without the body', async () => {
    const { secret } = await http.newTenant();
    const path = `/v1/crawls/${await http.start({}, { secret })}`;
    const get = await http.call('GET', path, { secret });
    const head = await http.call('HEAD', path, { secret });
    expect([head.status, head.text, head.headers.get('etag')]).toStrictEqual([200, '', get.headers.get('etag')]);
    expect((await http.call('HEAD', `/v1/crawls/${randomUUID()}`, { secret })).status).toBe(404);
  });
});

describe('cancel and delete', () => {
  it('cancels a crawl that waits: 202 with the detail, published, and final', async () => {
    const { secret } = await http.newTenant();
    const id = await http.start({}, { secret });
    const { status, json } = await http.call('POST', `/v1/crawls/${id}/cancel`, { secret });
    expect(status).toBe(202);
    expect(json).toStrictEqual({
      id,
      host: 'example.com',
      state: 'failed',
      urlsCrawled: 0,
      findingsCount: null,
      error: 'The crawl was cancelled.',
    });
    expect(http.published.findLast((snapshot) => snapshot.id === id)).toMatchObject({ state: 'failed', endReason: 'cancelled' });
    const again = await http.call('POST', `/v1/crawls/${id}/cancel`, { secret });
    expect([again.status, again.json.code]).toStrictEqual([409, 'crawl_final']);
  });

  it('deletes a final crawl with 204, and then it is gone', async () => {
    const { secret } = await http.newTenant();
    const id = await http.start({}, { secret });
    const running = await http.call('DELETE', `/v1/crawls/${id}`, { secret });
    expect([running.status, running.json.code]).toStrictEqual([409, 'crawl_not_final']);
    await http.call('POST', `/v1/crawls/${id}/cancel`, { secret });
    const gone = await http.call('DELETE', `/v1/crawls/${id}`, { secret });
    expect([gone.status, gone.text]).toStrictEqual([204, '']);
    expect((await http.call('GET', `/v1/crawls/${id}`, { secret })).status).toBe(404);
    expect((await http.call('DELETE', `/v1/crawls/${id}`, { secret })).status).toBe(404);
  });
});
