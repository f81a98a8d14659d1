import { describe, expect, it } from 'vitest';
import { startHttp, type TestHttp, type TestHttpOptions } from './fixtures/http.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

async function withHttp(use: (http: TestHttp) => Promise<void>, options: TestHttpOptions = {}): Promise<void> {
  const http = await startHttp(options);
  try {
    await use(http);
  } finally {
    await http.close();
  }
}
const home = (http: TestHttp, method = 'GET', headers: Record<string, string> = {}) => http.call(method, '/', { secret: null, headers });

describe('the address of the service itself', () => {
  it('leads a browser to the docs, below whatever base address it came by', () =>
    withHttp(async (http) => {
      const { status, headers, text } = await home(http, 'GET', { accept: BROWSER });
      expect([status, text, headers.get('vary')]).toStrictEqual([302, '', 'Accept']);
      const target = headers.get('location') ?? '';
      expect(new URL(target, 'https://crawl.example/base/').href).toBe('https://crawl.example/base/docs');
      expect((await http.call('GET', new URL(target, http.address).pathname, { secret: null })).text).toContain('swagger-ui');
    }));

  it('tells anybody else, without a key, where things are, and each of them is there', () =>
    withHttp(async (http) => {
      for (const accept of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
        const { status, json, headers } = await home(http, 'GET', accept);
        expect([status, headers.get('content-type')]).toStrictEqual([200, 'application/json']);
        expect(json).toStrictEqual({
          service: 'crawlgate',
          docs: '/docs',
          openapi: '/openapi.json',
          graphql: '/graphql',
          ping: '/v1/ping',
        });
      }
      const { service, ...paths } = (await home(http)).json;
      for (const path of Object.values<string>(paths)) expect([path, (await http.call('GET', path)).status]).not.toContain(404);
    }));

  it('answers HEAD like GET without a body, and any other method with 405', () =>
    withHttp(async (http) => {
      const [plain, browser] = [await home(http, 'HEAD'), await home(http, 'HEAD', { accept: BROWSER })];
      expect([plain.status, plain.text, plain.headers.get('content-type')]).toStrictEqual([200, '', 'application/json']);
      expect([browser.status, browser.text, browser.headers.get('location')]).toStrictEqual([302, '', 'docs']);
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const { status, json, headers } = await home(http, method);
        expect([method, status, json.code, headers.get('allow')]).toStrictEqual([method, 405, 'method_not_allowed', 'GET, HEAD']);
      }
    }));

  it('keeps what CORS says of caches', () =>
    withHttp(
      async (http) => {
        const { headers } = await home(http, 'GET', { origin: 'https://app.example' });
        expect(headers.get('vary')).toBe('Origin, Accept');
        expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
      },
      { corsOrigins: ['https://app.example'] },
    ));
});
