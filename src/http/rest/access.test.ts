import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHttp, type TestHttp } from '../fixtures/http.ts';
import { OPERATIONS } from './operations.ts';

let http: TestHttp;
let clock = 0;
beforeAll(async () => {
  http = await startHttp({ readLimitPerMinute: 3, now: () => clock });
});
afterAll(() => http.close());

const ID = '5f0c1f4e-6f0a-4f5e-9f59-0a3c6f2f8a11';
const CALLS = OPERATIONS.map(({ method, path, scope }) => ({ method: method.toUpperCase(), path: path.replace('{id}', ID), scope }));

describe('authentication', () => {
  it.each([...CALLS, { method: 'GET', path: '/v1/nothing' }])(
    '$method $path without a valid key is 401 with WWW-Authenticate',
    async ({ method, path }) => {
      for (const authorization of [undefined, 'Bearer', 'Bearer unknown', `Basic ${http.tenant.secret}`, http.tenant.secret]) {
        const headers = authorization === undefined ? {} : { authorization };
        const answer = await http.call(method, path, { secret: null, headers });
        expect([answer.status, answer.headers.get('www-authenticate')]).toStrictEqual([401, 'Bearer']);
        expect(answer.json.code).toBe('unauthorized');
        expect(answer.headers.has('ratelimit')).toBe(false);
      }
    },
  );

  it('takes the scheme in any case', async () => {
    const { secret } = await http.newTenant();
    expect((await http.call('GET', '/v1/ping', { secret: null, headers: { authorization: `bearer ${secret}` } })).status).toBe(200);
  });

  it('refuses a revoked key within a second', async () => {
    const { secret, keyId } = await http.newTenant();
    await http.call('GET', '/v1/ping', { secret });
    await http.store.revokeKey(keyId);
    clock += 1_000;
    expect((await http.call('GET', '/v1/ping', { secret })).status).toBe(401);
  });

  it.each(CALLS.filter(({ scope }) => scope !== null))('$method $path needs $scope', async ({ method, path, scope }) => {
    const scopes = (['crawls:read', 'crawls:write', 'metrics'] as const).filter((other) => other !== scope);
    const { secret } = await http.newTenant({ scopes });
    const body = path === '/v1/crawls' && method === 'POST' ? { url: 'https://example.com/' } : undefined;
    const { status, json, headers } = await http.call(method, path, { secret, body });
    expect([status, json.code]).toStrictEqual([403, 'insufficient_scope']);
    expect(json.detail).toContain(scope);
    expect(headers.get('ratelimit')).toMatch(/^"(starts|requests)";r=\d+;t=\d+$/);
  });
});

describe('the limit of requests', () => {
  it('tells on every answer what is left, counts refused requests, and answers 429 with Retry-After', async () => {
    const { secret } = await http.newTenant();
    clock += 60_000; // a new window
    const told: unknown[] = [];
    for (const path of ['/v1/ping', '/v1/nothing', '/v1/crawls?x=1', '/v1/ping']) {
      const { status, headers } = await http.call('GET', path, { secret });
      expect(headers.get('ratelimit-policy')).toBe('"requests";q=3;w=60');
      told.push([status, headers.get('ratelimit'), headers.get('retry-after')]);
      clock += 1_500;
    }
    expect(told).toStrictEqual([
      [200, '"requests";r=2;t=60', null],
      [404, '"requests";r=1;t=59', null],
      [400, '"requests";r=0;t=57', null],
      [429, '"requests";r=0;t=56', '56'],
    ]);
    clock += 55_000;
    expect((await http.call('GET', '/v1/ping', { secret })).status).toBe(200);
  });

  it('is of one key: another key of the organization has its own', async () => {
    const first = await http.newTenant();
    const second = await http.newTenant({ organizationId: first.organizationId });
    clock += 60_000;
    for (let i = 0; i < 4; i++) await http.call('GET', '/v1/ping', { secret: first.secret });
    expect((await http.call('GET', '/v1/ping', { secret: first.secret })).status).toBe(429);
    expect((await http.call('GET', '/v1/ping', { secret: second.secret })).status).toBe(200);
  });
});

describe('the limit of starts', () => {
  it('accepts ten, answers the eleventh 429 with Retry-After, and accepts it when that time has passed', async () => {
    const { secret, keyId } = await http.newTenant();
    const start = () => http.call('POST', '/v1/crawls', { secret, body: { url: 'https://example.com/' } });
    for (let left = 9; left >= 0; left--) {
      const { status, headers } = await start();
      expect([status, headers.get('ratelimit-policy')]).toStrictEqual([202, '"starts";q=10;w=60']);
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"starts";r=${left};t=(60|5\\d)$`));
    }
    const refused = await start();
    expect([refused.status, refused.json.code]).toStrictEqual([429, 'rate_limited']);
    expect(refused.headers.get('ratelimit')).toMatch(/^"starts";r=0;t=(60|5\d)$/);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(50);
    expect(wait).toBeLessThanOrEqual(60);
    await http.ageStarts(keyId, wait * 1_000);
    expect((await start()).status).toBe(202);
  });

  it('is not used up by requests that are invalid, replayed or refused for their scope', async () => {
    const { secret, keyId, organizationId } = await http.newTenant();
    const headers = { 'idempotency-key': 'once' };
    const body = { url: 'https://example.com/' };
    await http.call('POST', '/v1/crawls', { secret, body: { url: 'ftp://x' } });
    await http.call('POST', '/v1/crawls', { secret, body: 'broken' });
    for (let i = 0; i < 3; i++) await http.call('POST', '/v1/crawls', { secret, body, headers });
    const reader = await http.newTenant({ organizationId, scopes: ['crawls:read'] });
    await http.call('POST', '/v1/crawls', { secret: reader.secret, body });
    expect((await http.store.getStartAllowance(keyId)).remaining).toBe(9);
    expect((await http.store.getStartAllowance(reader.keyId)).remaining).toBe(10);
  });

  it('is told on refused starts, too, and starts are no requests', async () => {
    const { secret } = await http.newTenant();
    clock += 60_000;
    for (let i = 0; i < 5; i++) {
      const { status, headers } = await http.call('POST', '/v1/crawls', { secret, body: {} });
      expect([status, headers.get('ratelimit-policy'), headers.get('ratelimit')]).toStrictEqual([
        400,
        '"starts";q=10;w=60',
        '"starts";r=10;t=0',
      ]);
    }
    expect((await http.call('GET', '/v1/ping', { secret })).headers.get('ratelimit')).toMatch(/^"requests";r=2;/);
  });

  it('lets exactly ten of twenty racing starts through', async () => {
    const { secret } = await http.newTenant();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => http.call('POST', '/v1/crawls', { secret, body: { url: 'https://example.com/' } })),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(10);
    for (const { status, headers } of answers) if (status === 429) expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });
});

describe('the quota', () => {
  it('refuses a start with 403 and resetsAt when it is used up', async () => {
    const { secret } = await http.newTenant({ quota: 0 });
    const { status, json, headers } = await http.call('POST', '/v1/crawls', { secret, body: { url: 'https://example.com/' } });
    expect([status, json.code]).toStrictEqual([403, 'quota_exceeded']);
    expect(json.resetsAt).toMatch(/^\d{4}-\d\d-01T00:00:00\.000Z$/);
    expect(headers.get('ratelimit')).toBe('"starts";r=10;t=0');
  });
});
