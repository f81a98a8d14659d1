import { describe, expect, it } from 'vitest';
import { withGraphql } from './fixtures/graphql.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

describe('GraphiQL', () => {
  it('is what a browser gets, without a key, with all of its files from here', () =>
    withGraphql(async ({ call }) => {
      const page = await call('GET', '/graphql', { secret: null, headers: BROWSER });
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/https?:|unsafe-eval/);
      const files = [...page.text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(([, file]) => `/${file}`);
      expect(files).toHaveLength(4);
      const workers = ['editorWorkerService', 'json', 'graphql'].map((label) => `/graphql/${label}.worker.js`);
      for (const file of [...files, ...workers]) {
        const { status, headers, text } = await call('GET', file, { secret: null });
        expect([file, status, headers.get('content-type')]).toEqual([
          file,
          200,
          file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
        ]);
        expect(text.length).toBeGreaterThan(50);
        expect(headers.get('x-content-type-options')).toBe('nosniff');
      }
      for (const name of ['nothing.js', '__proto__', 'constructor']) expect((await call('GET', `/graphql/${name}`)).status).toBe(404);
    }));

  it('does not stand in the way of a query from the address bar, or of a client that takes anything', () =>
    withGraphql(async ({ call }) => {
      const query = await call('GET', '/graphql?query=%7B__typename%7D', { headers: BROWSER });
      expect(query.json).toEqual({ data: { __typename: 'Query' } });
      expect((await call('GET', '/graphql', { headers: { accept: '*/*' } })).json.errors).toBeDefined();
    }));
});
