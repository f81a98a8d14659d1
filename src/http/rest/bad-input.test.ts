import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchangeRaw, startHttp, type TestHttp } from '../fixtures/http.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.close());

const post = (body: unknown, headers: Record<string, string> = {}) => http.call('POST', '/v1/crawls', { body, headers });
const places = (json: { errors: { pointer?: string; parameter?: string; header?: string }[] }) =>
  json.errors.map(({ pointer, parameter, header }) => pointer ?? parameter ?? header);

describe('the body of POST /v1/crawls', () => {
  const url = 'https://example.com/';
  it.each<[string, unknown, string[]]>([
    ['no url', {}, ['/url']],
    ['url null', { url: null }, ['/url']],
    ['url a number', { url: 1 }, ['/url']],
    ['url an array', { url: [url] }, ['/url']],
    ['url empty', { url: '' }, ['/url']],
    ['maxUrls a string', { url, maxUrls: '5' }, ['/maxUrls']],
    ['maxUrls null', { url, maxUrls: null }, ['/maxUrls']],
    ['maxUrls 0', { url, maxUrls: 0 }, ['/maxUrls']],
    ['maxUrls negative', { url, maxUrls: -1 }, ['/maxUrls']],
    ['maxUrls a fraction', { url, maxUrls: 1.5 }, ['/maxUrls']],
    ['maxUrls true', { url, maxUrls: true }, ['/maxUrls']],
    ['maxDepth a string', { url, maxDepth: '1' }, ['/maxDepth']],
    ['maxDepth null', { url, maxDepth: null }, ['/maxDepth']],
    ['maxDepth negative', { url, maxDepth: -1 }, ['/maxDepth']],
    ['maxDepth a fraction', { url, maxDepth: 0.5 }, ['/maxDepth']],
    ['an unknown field', { url, depth: 1 }, ['/depth']],
    ['an unknown field to escape', { url, 'a/b~c': 1 }, ['/a~1b~0c']],
    ['several at once', { maxUrls: 0, maxDepth: -1, more: 1 }, ['/url', '/maxUrls', '/maxDepth', '/more']],
    ['null', null, ['']],
    ['an array', [], ['']],
    ['a string', '"x"', ['']],
    ['the field __proto__', '{"url":"https://example.com/","__proto__":{"maxUrls":1}}', ['/__proto__']],
    ['a number too large for JSON', '{"url":"https://example.com/","maxUrls":1e999}', ['/maxUrls']],
  ])('%s is 400 with its pointer', async (_name, body, pointers) => {
    const { status, json } = await post(body === null ? 'null' : body);
    expect([status, json.code]).toStrictEqual([400, 'invalid_request']);
    expect(places(json)).toStrictEqual(pointers);
    for (const { detail } of json.errors) expect(detail).toMatch(/^(is|must) /);
  });

  it.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    '/relative',
    'example.com',
    '//example.com',
    'http://',
    'https://user@example.com/',
    'https://user:pass@example.com/',
    `https://example.com/${'a'.repeat(3_000)}`,
    'http://127.0.0.1/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://192.168.0.1/',
    'http://[fd00::1]/',
    'http://0.0.0.0/',
    'http://example.com:25/',
    'https://example.com:6667/',
  ])('the start URL %.60s is 400 at /url', async (startUrl) => {
    const { status, json } = await post({ url: startUrl });
    expect([status, json.code]).toStrictEqual([400, 'invalid_request']);
    expect(places(json)).toStrictEqual(['/url']);
  });

  it('an internationalized name is taken in punycode', async () => {
    const { secret } = await http.newTenant();
    const id = await http.start({ url: 'https://Bücher.example/' }, { secret });
    expect((await http.call('GET', `/v1/crawls/${id}`, { secret })).json.host).toBe('xn--bcher-kva.example');
  });

  it.each([
    ['broken JSON', '{"url":'],
    ['nothing', ''],
    ['two values', '{} {}'],
    ['a comment', '{"url":"https://example.com/"} // x'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from('{"url":"https://example.com/"}', 'utf16le')],
    ['deep nesting', '['.repeat(60_000)],
  ])('%s is 400 at the whole body', async (_name, body) => {
    const { status, json } = await post(body);
    expect([status, json.code, places(json)]).toStrictEqual([400, 'invalid_request', ['']]);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/merge-patch+json',
    'application/json; charset=iso-8859-1',
    'application/json, text/plain',
    '',
  ])('the content type "%s" is 415', async (type) => {
    const { status, json } = await post('{"url":"https://example.com/"}', { 'content-type': type });
    expect([status, json.code]).toStrictEqual([415, 'unsupported_media_type']);
  });

  it('a compressed body is 415', async () => {
    expect((await post('{}', { 'content-encoding': 'gzip' })).status).toBe(415);
  });

  it('a body over 64 KiB is 413 by its declared length, before it is sent', async () => {
    const head = `POST /v1/crawls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.tenant.secret}\r\nContent-Type: application/json\r\nContent-Length: 65537\r\n\r\n`;
    const answer = await exchangeRaw(http.port, head);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('"code":"payload_too_large"');
    expect(answer).toMatch(/connection: close/i);
  });

  it('a body over 64 KiB is 413 in chunks, as soon as that much has come', async () => {
    const chunk = `8000\r\n${' '.repeat(0x8000)}\r\n`;
    const head = `POST /v1/crawls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.tenant.secret}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    expect(await exchangeRaw(http.port, head + chunk.repeat(3))).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('a body of exactly 64 KiB is read', async () => {
    const body = JSON.stringify({ url: 'https://example.com/' });
    const { secret } = await http.newTenant();
    const { status } = await http.call('POST', '/v1/crawls', { secret, body: body + ' '.repeat(64 * 1024 - body.length) });
    expect(status).toBe(202);
  });

  it.each([
    ['empty', ''],
    ['256 characters', 'x'.repeat(256)],
    ['a character that is not ASCII', 'caf\xe9'],
    ['a tab', 'a\tb'],
  ])('an Idempotency-Key that is %s is 400 with the header named', async (_name, key) => {
    const { status, json } = await post({ url }, { 'idempotency-key': key });
    expect([status, places(json)]).toStrictEqual([400, ['Idempotency-Key']]);
  });

  it('two Idempotency-Keys are 400', async () => {
    const body = '{"url":"https://example.com/"}';
    const answer = await exchangeRaw(
      http.port,
      `POST /v1/crawls HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${http.tenant.secret}\r\nContent-Type: application/json\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"header":"Idempotency-Key"');
  });

  it('a query parameter is 400', async () => {
    const { status, json } = await http.call('POST', '/v1/crawls?dryRun=1', { body: { url } });
    expect([status, places(json)]).toStrictEqual([400, ['dryRun']]);
  });

  it('none of these used up a start, or stored a crawl', async () => {
    expect(await http.store.getStartAllowance(http.tenant.keyId)).toStrictEqual({ remaining: 10, resetMs: 0 });
    expect((await http.call('GET', '/v1/crawls')).json.data).toStrictEqual([]);
  });
});

describe('query parameters', () => {
  const ID = '5f0c1f4e-6f0a-4f5e-9f59-0a3c6f2f8a11';
  it.each([
    ['/v1/crawls', 'limit=0', ['limit']],
    ['/v1/crawls', 'limit=-1', ['limit']],
    ['/v1/crawls', 'limit=1.5', ['limit']],
    ['/v1/crawls', 'limit=1e2', ['limit']],
    ['/v1/crawls', 'limit=%201', ['limit']],
    ['/v1/crawls', 'limit=0x10', ['limit']],
    ['/v1/crawls', 'limit=', ['limit']],
    ['/v1/crawls', 'limit=x', ['limit']],
    ['/v1/crawls', 'limit=1&limit=1', ['limit']],
    ['/v1/crawls', 'siteId=x', ['siteId']],
    ['/v1/crawls', 'siteId=', ['siteId']],
    ['/v1/crawls', 'state=queued', ['state']],
    ['/v1/crawls', 'state=', ['state']],
    ['/v1/crawls', 'page=2', ['page']],
    ['/v1/crawls', 'limit=1&limit=2&state=x&page=2', ['limit', 'state', 'page']],
    ['/v1/crawls', '__proto__=1', ['__proto__']],
    [`/v1/crawls/${ID}`, 'fields=id', ['fields']],
    [`/v1/crawls/${ID}/pages`, 'status=gone', ['status']],
    [`/v1/crawls/${ID}/pages`, 'state=done', ['state']],
    [`/v1/crawls/${ID}/findings`, 'severity=worst', ['severity']],
    [`/v1/crawls/${ID}/findings`, 'rule=', ['rule']],
    ['/v1/sites', 'limit=0', ['limit']],
    ['/v1/usage', 'month=2026-11', ['month']],
    ['/v1/ping', 'x', ['x']],
  ])('%s?%s is 400 with the parameter named', async (path, query, parameters) => {
    const { status, json } = await http.call('GET', `${path}?${query}`);
    expect([status, json.code]).toStrictEqual([400, 'invalid_request']);
    expect(places(json)).toStrictEqual(parameters);
    for (const entry of json.errors) expect(Object.keys(entry).sort()).toStrictEqual(['detail', 'parameter']);
  });
});

describe('methods', () => {
  it.each([
    ['PUT', '/v1/crawls', 'POST, GET, HEAD'],
    ['PATCH', '/v1/crawls/5f0c1f4e-6f0a-4f5e-9f59-0a3c6f2f8a11', 'GET, HEAD, DELETE'],
    ['POST', '/v1/ping', 'GET, HEAD'],
    ['GET', '/v1/crawls/5f0c1f4e-6f0a-4f5e-9f59-0a3c6f2f8a11/cancel', 'POST'],
    ['OPTIONS', '/v1/usage', 'GET, HEAD'],
    ['TRACE', '/v1/sites', 'GET, HEAD'],
    ['POST', '/openapi.json', 'GET, HEAD'],
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['PURGE', '/problems/not_found', 'GET, HEAD'],
  ])('%s %s is 405 with Allow', async (method, path, allow) => {
    const { status, json, headers } = await http.call(method, path);
    expect([status, json.code, headers.get('allow')]).toStrictEqual([405, 'method_not_allowed', allow]);
  });
});

describe('addresses', () => {
  it.each(['a b', 'a/b', '[', 'x@y'])('a Host of "%s" is 400', async (host) => {
    const answer = await exchangeRaw(http.port, `GET /v1/ping HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"invalid_request"');
  });

  it.each(['*', 'x', '/\\x'])('the request target %s is 400', async (target) => {
    const answer = await exchangeRaw(http.port, `OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('a target in absolute form is read', async () => {
    const answer = await exchangeRaw(http.port, 'GET http://x/healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('an HTTP/1.0 request without Host is read', async () => {
    expect(await exchangeRaw(http.port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });
});
