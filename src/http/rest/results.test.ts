import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CrawlId } from '#domain/ids.ts';
import { startHttp, type TestHttp } from '../fixtures/http.ts';
import * as schemas from './schemas.ts';

let http: TestHttp;
let id: CrawlId;
const finding = (ordinal: number, rule: string, severity: 'high' | 'low', pageSeq: number | null) => ({
  ordinal,
  fingerprint: `f${ordinal}`,
  rule,
  severity,
  pageSeq,
  url: pageSeq === null ? null : `https://example.com/page-${pageSeq}`,
  evidence: { status: 404, on: ['a', 'b'] },
});

beforeAll(async () => {
  http = await startHttp({ describeRule: (rule) => (rule === 'gone.rule' ? null : { title: 'T', why: 'W', fix: 'F' }) });
  await http.start();
  id = await http.finish(
    [
      {},
      { status: 'redirected', httpStatus: 301, redirectUrl: 'https://example.com/page-3', facts: null },
      { status: 'failed', httpStatus: null, contentType: null, reason: 'The connection was refused.', facts: null, bytes: 0 },
      { truncated: true },
    ],
    [finding(0, 'title.missing', 'high', 0), finding(1, 'http.client_error', 'low', 3), finding(2, 'gone.rule', 'low', null)],
  );
});
afterAll(() => http.close());

const get = async (path: string) => (await http.call('GET', path)).json;

async function walk(path: string): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor: string | null = null;
  do {
    const part: { data: unknown[]; nextCursor: string | null } = await get(`${path}?limit=1${cursor === null ? '' : `&cursor=${cursor}`}`);
    expect(part.data).toHaveLength(1);
    items.push(...part.data);
    cursor = part.nextCursor;
  } while (cursor !== null);
  return items;
}

describe('GET /v1/crawls/{id}/pages', () => {
  it('answers exactly the documented fields, in order of discovery', async () => {
    const { data, nextCursor } = await get(`/v1/crawls/${id}/pages`);
    expect(nextCursor).toBeNull();
    expect(data[0]).toStrictEqual({
      url: 'https://example.com/',
      status: 'fetched',
      depth: 0,
      httpStatus: 200,
      contentType: 'text/html',
      title: 'Page 0',
      reason: null,
      redirectUrl: null,
      fetchedAt: '2026-11-21T03:05:26.537Z',
      durationMs: 12,
      bytes: 345,
      truncated: false,
    });
    expect(data[1]).toMatchObject({ status: 'redirected', httpStatus: 301, redirectUrl: 'https://example.com/page-3', title: null });
    expect(data[2]).toMatchObject({ status: 'failed', httpStatus: null, reason: 'The connection was refused.' });
    expect(data[3]).toMatchObject({ url: 'https://example.com/page-3', truncated: true });
    for (const page of data) schemas.Page.parse(page);
  });

  it('filters by status', async () => {
    expect((await get(`/v1/crawls/${id}/pages?status=failed`)).data).toHaveLength(1);
    expect((await get(`/v1/crawls/${id}/pages?status=blocked`)).data).toStrictEqual([]);
  });

  it('gives every page once over its parts', async () => {
    expect(await walk(`/v1/crawls/${id}/pages`)).toStrictEqual((await get(`/v1/crawls/${id}/pages`)).data);
  });

  it('refuses the cursor of another filter', async () => {
    const { nextCursor } = await get(`/v1/crawls/${id}/pages?limit=1`);
    expect((await get(`/v1/crawls/${id}/pages?status=fetched&cursor=${nextCursor}`)).code).toBe('invalid_cursor');
    expect((await get(`/v1/crawls/${id}/findings?cursor=${nextCursor}`)).code).toBe('invalid_cursor');
  });
});

describe('GET /v1/crawls/{id}/findings', () => {
  it('answers exactly the documented fields, joined with what the rule says', async () => {
    const { data } = await get(`/v1/crawls/${id}/findings`);
    expect(data).toHaveLength(3);
    expect(data[0]).toStrictEqual({
      id: 'f0',
      rule: 'title.missing',
      severity: 'high',
      title: 'T',
      why: 'W',
      fix: 'F',
      url: 'https://example.com/page-0',
      evidence: { status: 404, on: ['a', 'b'] },
    });
    expect(data[2]).toMatchObject({ rule: 'gone.rule', title: null, why: null, fix: null, url: null });
    for (const item of data) schemas.Finding.parse(item);
  });

  it('filters by severity and rule', async () => {
    const ids = async (query: string) => (await get(`/v1/crawls/${id}/findings?${query}`)).data.map((item: { id: string }) => item.id);
    expect(await ids('severity=low')).toStrictEqual(['f1', 'f2']);
    expect(await ids('rule=http.client_error')).toStrictEqual(['f1']);
    expect(await ids('severity=high&rule=http.client_error')).toStrictEqual([]);
    expect(await ids('rule=unknown.rule')).toStrictEqual([]);
  });

  it('gives every finding once over its parts', async () => {
    expect(await walk(`/v1/crawls/${id}/findings`)).toStrictEqual((await get(`/v1/crawls/${id}/findings`)).data);
  });

  it('is empty while the crawl runs', async () => {
    const running = await http.start();
    expect(await get(`/v1/crawls/${running}/findings`)).toStrictEqual({ data: [], nextCursor: null });
  });
});

describe('the account', () => {
  it('GET /v1/sites answers each authority once, in order, with a cursor', async () => {
    await http.start({ url: 'https://b.example:8443/' });
    await http.start({ url: 'https://a.example/' });
    const { data } = await get('/v1/sites');
    expect(data.map(({ authority, host }: { authority: string; host: string }) => [authority, host])).toStrictEqual([
      ['a.example', 'a.example'],
      ['b.example:8443', 'b.example'],
      ['example.com', 'example.com'],
    ]);
    for (const site of data) schemas.Site.parse(site);
    expect(await walk('/v1/sites')).toStrictEqual(data);
  });

  it('GET /v1/usage answers the month, exact to the page', async () => {
    const usage = await get('/v1/usage');
    schemas.Usage.parse(usage);
    expect(usage).toMatchObject({ limit: 100_000, used: 2, reserved: 0, remaining: 99_998, month: new Date().toISOString().slice(0, 7) });
    expect(usage.resetsAt).toMatch(/^\d{4}-\d\d-01T00:00:00\.000Z$/);
  });

  it('GET /v1/ping answers any valid key', async () => {
    const { secret, organizationId } = await http.newTenant({ scopes: ['metrics'] });
    const { status, json } = await http.call('GET', '/v1/ping', { secret });
    expect(status).toBe(200);
    expect(json).toStrictEqual({ ok: true, organizationId });
  });
});
