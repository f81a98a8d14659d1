import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS } from '#domain/errors.ts';
import { startHttp, type TestHttp } from './fixtures/http.ts';
import { errorsMarkdown } from './problem-texts.ts';
import { openApiDocument } from './rest/openapi.ts';
import { OPERATIONS } from './rest/operations.ts';

const ROOT = new URL('../../', import.meta.url);
const PUBLIC_URL = 'http://127.0.0.1:4000';
const document = openApiDocument({ publicUrl: PUBLIC_URL });

/** Every object below `node`, with the path that leads to it. */
function* objectsOf(node: unknown, path = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof node !== 'object' || node === null) return;
  yield [path, node as Record<string, unknown>];
  for (const [key, value] of Object.entries(node)) yield* objectsOf(value, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

describe('printed files', () => {
  it('openapi.json is what the routes say (print it again with `crawlgate openapi`)', async () => {
    expect(JSON.parse(await readFile(new URL('openapi.json', ROOT), 'utf8'))).toStrictEqual(JSON.parse(JSON.stringify(document)));
  });

  it('docs/errors.md is what the error table says', async () => {
    expect(await readFile(new URL('docs/errors.md', ROOT), 'utf8')).toBe(errorsMarkdown());
  });

  it('docs/errors.md has every code', () => {
    for (const code of Object.keys(ERRORS)) expect(errorsMarkdown()).toContain(`## ${code}\n`);
  });
});

describe('the OpenAPI document', () => {
  it('has every operation, with its summary, scope, security and all error answers', () => {
    for (const { method, path, operationId, scope } of OPERATIONS) {
      const told = document.paths?.[path]?.[method];
      expect(told?.operationId).toBe(operationId);
      expect(told?.security).toStrictEqual([{ apiKey: [] }]);
      if (scope !== null) expect(told?.description).toContain(scope);
      expect(Object.keys(told?.responses ?? {})).toEqual(expect.arrayContaining(['400', '401', '429', '500', '503']));
      if (scope !== null) expect(told?.responses).toHaveProperty('403');
    }
  });

  it('describes every operation, parameter, header, answer and field', () => {
    const silent = [...objectsOf(document)].filter(([path, node]) => {
      const isField = /\/properties\/[^/]+$/.test(path) && !/\/example/.test(path);
      const isPart =
        /^#\/paths\/[^/]+\/(get|post|delete)(\/parameters\/\d+|\/responses\/\d+)?$/.test(path) ||
        /^#\/components\/headers\/[^/]+$/.test(path);
      return (isField || isPart) && typeof node.description !== 'string' && node.$ref === undefined;
    });
    expect(silent.map(([path]) => path)).toStrictEqual([]);
  });

  it('refers only to what it has', () => {
    const paths = new Set([...objectsOf(document)].map(([path]) => path));
    const broken = [...objectsOf(document)].map(([, node]) => node.$ref).filter((ref) => typeof ref === 'string' && !paths.has(ref));
    expect(broken).toStrictEqual([]);
  });

  it('tells how often to poll', () => {
    expect(document.info.description).toMatch(/every 5 seconds, or every 15 to 30 seconds when `maxUrls` is above 5,000/);
    expect(document.paths?.['/v1/crawls/{id}']?.get?.description).toContain('every 5 seconds');
  });

  it('documents numbers of queries as numbers, with defaults and bounds', () => {
    const parameters = document.paths?.['/v1/crawls']?.get?.parameters ?? [];
    expect(parameters).toContainEqual(
      expect.objectContaining({
        name: 'limit',
        required: false,
        schema: expect.objectContaining({ type: 'integer', minimum: 1, default: 50 }),
      }),
    );
  });
});

describe('/docs', () => {
  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp();
  });
  afterAll(() => http.close());

  it('serves a page that needs nothing from elsewhere', async () => {
    const { status, text, headers } = await http.call('GET', '/docs', { secret: null });
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*script-src 'self';/);
    expect(text).not.toMatch(/<script>|https?:/);
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(links).toHaveLength(4);
    for (const link of links) {
      const file = await http.call('GET', new URL(link, `${http.address}/docs`).pathname, { secret: null });
      expect([link, file.status]).toStrictEqual([link, 200]);
      expect(file.text.length).toBeGreaterThan(100);
    }
  });

  it('is found with a slash at its end, too', async () => {
    const { status, headers } = await http.call('GET', '/docs/', { secret: null });
    expect(status).toBe(302);
    expect(new URL(headers.get('location') ?? '', `${http.address}/base/docs/`).pathname).toBe('/base/docs');
  });

  it('serves no other file', async () => {
    for (const name of ['package.json', '..%2fpackage.json', 'swagger-ui.js', 'toString']) {
      expect((await http.call('GET', `/docs/${name}`)).status).toBe(404);
    }
  });

  it('serves the document itself', async () => {
    const { json, headers } = await http.call('GET', '/openapi.json', { secret: null });
    expect(headers.get('content-type')).toBe('application/json');
    expect(json).toStrictEqual(JSON.parse(JSON.stringify(openApiDocument({ publicUrl: http.address }))));
  });
});
