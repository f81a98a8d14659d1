import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { monthOf, resetsAt } from '#domain/quota.ts';
import { countingStore, type TestGraphql, WAYS, withGraphql } from './fixtures/graphql.ts';

const CRAWL_FIELDS = `id url host state phase endReason error maxUrls maxDepth urlsDiscovered urlsCrawled urlsRedirected urlsFailed
  urlsBlocked urlsQueued frontierTruncated queuePosition findingsCount startedAt finishedAt version
  site { id host authority firstCrawledAt lastCrawledAt }`;

const PAGE = `query ($first: Int, $after: String, $last: Int, $before: String, $filter: CrawlFilter) {
  crawls(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

/** Starts crawls under keys of their own; answers their ids, the newest first. */
async function startSome({ newTenant, tenant, start, data }: TestGraphql, count: number, body: Record<string, unknown> = {}) {
  for (let at = 0; at < count; at++) {
    const { secret } = await newTenant({ organizationId: tenant.organizationId });
    await start(body, { secret });
  }
  const { crawls } = await data('{ crawls(first: 200) { edges { node { id } } } }');
  return idsOf(crawls);
}
const idsOf = (connection: { edges: { node: { id: string } }[] }): string[] => connection.edges.map(({ node }) => node.id);

describe('viewer', () => {
  it('tells the organization, its quota and the key', () =>
    withGraphql(async (graphql) => {
      const { tenant, data, finish, start, store } = graphql;
      await start();
      await finish([{}, {}]);
      expect(
        await data(
          '{ viewer { organization { id name quota { limit used reserved remaining resetsAt } } apiKey { id name prefix scopes } } }',
        ),
      ).toEqual({
        viewer: {
          organization: {
            id: tenant.organizationId,
            name: `org-${tenant.organizationId.slice(0, 8)}`,
            quota: {
              limit: 100_000,
              used: 2,
              reserved: 0,
              remaining: 99_998,
              resetsAt: new Date(resetsAt(monthOf(await store.now()))).toISOString(),
            },
          },
          apiKey: {
            id: tenant.keyId,
            name: 'test',
            prefix: tenant.secret.slice(0, 8),
            scopes: ['crawls:read', 'crawls:write', 'webhooks:write', 'metrics'],
          },
        },
      });
    }));

  it('needs no scope, its quota does', () =>
    withGraphql(async ({ newTenant, data, errors, send }) => {
      const { secret } = await newTenant({ scopes: ['metrics'] });
      expect((await data('{ viewer { apiKey { scopes } } }', {}, { secret })).viewer.apiKey.scopes).toEqual(['metrics']);
      const [error] = await errors('{ viewer { organization { quota { used } } } }', {}, { secret });
      expect(error).toMatchObject({ path: ['viewer', 'organization', 'quota'], extensions: { code: 'insufficient_scope' } });
      const beside = '{ viewer { apiKey { name } organization { quota { used } } } }';
      const { json } = await send(beside, {}, { secret });
      expect(json.data).toEqual({ viewer: { apiKey: { name: 'test' }, organization: { quota: null } } });
    }));
});

describe.each(WAYS)('crawl(id), the %s way', (way) => {
  it('tells all that is known of a crawl', () =>
    withGraphql(async ({ start, finish, data }) => {
      const id = await start({ url: 'https://example.com:8443/a', maxUrls: 20, maxDepth: 2 });
      const read = async () => (await data(`query ($id: ID!) { crawl(id: $id) { ${CRAWL_FIELDS} } }`, { id }, { way })).crawl;
      const waiting = await read();
      expect(waiting).toEqual({
        id,
        url: 'https://example.com:8443/a',
        host: 'example.com',
        state: 'RUNNING',
        phase: 'QUEUED',
        endReason: null,
        error: null,
        maxUrls: 20,
        maxDepth: 2,
        urlsDiscovered: 0,
        urlsCrawled: 0,
        urlsRedirected: 0,
        urlsFailed: 0,
        urlsBlocked: 0,
        urlsQueued: 0,
        frontierTruncated: false,
        queuePosition: 1,
        findingsCount: null,
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        finishedAt: null,
        version: 1,
        site: {
          id: expect.any(String),
          host: 'example.com',
          authority: 'example.com:8443',
          firstCrawledAt: waiting.startedAt,
          lastCrawledAt: waiting.startedAt,
        },
      });
      await finish([{}, { status: 'redirected' }, { status: 'failed' }, {}]);
      expect(await read()).toMatchObject({
        state: 'DONE',
        phase: 'FINISHED',
        endReason: 'COMPLETED',
        urlsDiscovered: 4,
        urlsCrawled: 2,
        urlsRedirected: 1,
        urlsFailed: 1,
        urlsQueued: 0,
        queuePosition: null,
        findingsCount: 0,
        finishedAt: expect.any(String),
        startedAt: waiting.startedAt,
      });
    }));

  it('is null for an unknown id, one of another organization and what is no id, and takes an id in upper case', () =>
    withGraphql(async ({ start, newTenant, data }) => {
      const id = await start();
      const other = await newTenant();
      const read = (wanted: string, secret?: string) =>
        data('query ($id: ID!) { crawl(id: $id) { id } }', { id: wanted }, { way, ...(secret !== undefined && { secret }) });
      expect(await read(id.toUpperCase())).toEqual({ crawl: { id } });
      for (const wanted of [randomUUID(), 'nonsense', '', '__proto__']) expect(await read(wanted)).toEqual({ crawl: null });
      expect(await read(id, other.secret)).toEqual({ crawl: null });
    }));
});

describe('crawls', () => {
  it('pages through each crawl once, in both directions, and tells where each part lies', () =>
    withGraphql(async (graphql) => {
      const all = await startSome(graphql, 7);
      const page = async (variables: object) => (await graphql.data(PAGE, { ...variables })).crawls;

      const forward: string[] = [];
      for (let after: string | null = null; ; ) {
        const part = await page({ first: 3, after });
        expect(part.pageInfo).toEqual({
          hasNextPage: forward.length + part.edges.length < 7,
          hasPreviousPage: forward.length > 0,
          startCursor: part.edges[0].cursor,
          endCursor: part.edges.at(-1).cursor,
        });
        forward.push(...idsOf(part));
        if (!part.pageInfo.hasNextPage) break;
        after = part.pageInfo.endCursor;
      }
      expect(forward).toEqual(all);

      const backward: string[] = [];
      for (let before: string | null = null; ; ) {
        const part = await page({ last: 3, before });
        expect(part.pageInfo).toMatchObject({
          hasPreviousPage: backward.length + part.edges.length < 7,
          hasNextPage: backward.length > 0,
        });
        backward.unshift(...idsOf(part));
        if (!part.pageInfo.hasPreviousPage) break;
        before = part.pageInfo.startCursor;
      }
      expect(backward).toEqual(all);

      const [after, before] = [(await page({ first: 1 })).pageInfo.endCursor, (await page({ last: 2 })).pageInfo.startCursor];
      expect(idsOf(await page({ last: 2, after, before }))).toEqual(all.slice(3, 5));
      expect(idsOf(await page({ last: 10, after }))).toEqual(all.slice(1));
    }));

  it('gives an empty part its place', () =>
    withGraphql(async (graphql) => {
      const page = async (variables: object) => (await graphql.data(PAGE, { ...variables })).crawls;
      const nothing = { edges: [], pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null } };
      expect(await page({})).toEqual(nothing);
      expect(await page({ last: 5 })).toEqual(nothing);
      await startSome(graphql, 2);
      expect((await page({ first: 0 })).pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
      const { endCursor: after } = (await page({})).pageInfo;
      expect((await page({ after })).pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
      expect((await page({ last: 0, before: after })).pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    }));

  it('filters by state, site and host, and counts what matches only when that is asked for', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async (graphql) => {
        await startSome(graphql, 2);
        await graphql.finish();
        await startSome(graphql, 1, { url: 'https://other.example:8080/' });
        const list = async (filter: object | null) =>
          (
            await graphql.data(
              'query ($filter: CrawlFilter) { crawls(filter: $filter) { totalCount edges { node { host state site { id } } } } }',
              { filter },
            )
          ).crawls;
        expect((await list(null)).totalCount).toBe(3);
        expect(await list({ state: 'DONE' })).toMatchObject({ totalCount: 1, edges: [{ node: { state: 'DONE' } }] });
        const other = await list({ host: 'OTHER.example' });
        expect(other).toMatchObject({ totalCount: 1, edges: [{ node: { host: 'other.example' } }] });
        expect((await list({ siteId: other.edges[0].node.site.id })).totalCount).toBe(1);
        expect((await list({ siteId: other.edges[0].node.site.id, state: 'DONE' })).totalCount).toBe(0);
        expect((await list({ siteId: randomUUID() })).totalCount).toBe(0);

        counts.clear();
        await graphql.data(PAGE, { first: 1 });
        expect(counts.get('countCrawls')).toBeUndefined();
      },
      { wrapStore },
    );
  });

  it('reads the sites and places in the queue of any number of crawls in one read each', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async (graphql) => {
        for (let at = 0; at < 50; at += 10) await startSome(graphql, 10, { url: `https://site-${at}.example/` });
        const readsOf = async (first: number): Promise<Record<string, number>> => {
          counts.clear();
          const { crawls } = await graphql.data(
            'query ($first: Int) { crawls(first: $first) { totalCount edges { node { queuePosition host site { host } } } } }',
            { first },
          );
          expect(crawls.edges).toHaveLength(first);
          for (const { node } of crawls.edges) expect(node.site.host).toBe(node.host);
          counts.delete('findKeyBySecret'); // remembered for a second
          return Object.fromEntries(counts);
        };
        const reads = { listCrawls: 1, countCrawls: 1, getSites: 1, getQueuePositions: 1 };
        expect(await readsOf(2)).toEqual(reads);
        expect(await readsOf(50)).toEqual(reads);
      },
      { wrapStore },
    );
  });

  it('lose only what cannot be read, and not the list', () =>
    withGraphql(
      async (graphql) => {
        const ids = await startSome(graphql, 3);
        const { json } = await graphql.send('{ crawls { totalCount edges { node { id site { id } } } } }');
        expect(json.data.crawls).toEqual({ totalCount: null, edges: ids.map((id) => ({ node: { id, site: null } })) });
        const { path, extensions } = json.errors.find((error: { path: unknown[] }) => error.path.includes('site'));
        expect([path, extensions.code]).toEqual([['crawls', 'edges', 0, 'node', 'site'], 'internal_error']);
      },
      {
        wrapStore: (store) => ({
          ...store,
          getSites: () => Promise.reject(new Error('gone')),
          countCrawls: () => Promise.reject(new Error('gone')),
        }),
      },
    ));

  it.each([
    [{ first: 1, last: 1 }, 'invalid_request', 'last'],
    [{ first: 1, before: 'x' }, 'invalid_request', 'before'],
    [{ first: -1 }, 'invalid_request', 'first'],
    [{ last: -1 }, 'invalid_request', 'last'],
    [{ after: 'nonsense' }, 'invalid_cursor', 'after'],
    [{ last: 1, before: 'nonsense' }, 'invalid_cursor', 'before'],
    [{ filter: { siteId: 'nonsense' } }, 'invalid_request', 'filter.siteId'],
  ])('refuses %j and names the argument', (variables, code, parameter) =>
    withGraphql(async ({ errors }) => {
      const [error] = await errors(PAGE, variables);
      expect(error.extensions).toEqual({ code, errors: [{ detail: expect.any(String), parameter }] });
    }),
  );

  it('refuses the cursor of another filter or organization', () =>
    withGraphql(async (graphql) => {
      await startSome(graphql, 2);
      const { pageInfo } = (await graphql.data(PAGE, { first: 1 })).crawls;
      const after = pageInfo.endCursor;
      const { secret } = await graphql.newTenant();
      for (const [variables, options] of [
        [{ after, filter: { state: 'RUNNING' } }, {}],
        [{ after }, { secret }],
      ] as const) {
        expect((await graphql.errors(PAGE, variables, options))[0].extensions.code).toBe('invalid_cursor');
      }
    }));
});

describe('sites', () => {
  it('are listed by authority, in parts, and read by id', () =>
    withGraphql(async (graphql) => {
      for (const host of ['c.example', 'a.example', 'b.example']) await startSome(graphql, 1, { url: `https://${host}/` });
      const SITES =
        'query ($first: Int, $after: String) { sites(first: $first, after: $after) { edges { cursor node { id authority } } pageInfo { hasNextPage hasPreviousPage endCursor } } }';
      const { sites } = await graphql.data(SITES, { first: 2 });
      expect(sites.edges.map(({ node }: { node: { authority: string } }) => node.authority)).toEqual(['a.example', 'b.example']);
      expect(sites.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
      const rest = (await graphql.data(SITES, { after: sites.pageInfo.endCursor })).sites;
      expect(rest).toMatchObject({
        edges: [{ node: { authority: 'c.example' } }],
        pageInfo: { hasNextPage: false, hasPreviousPage: true },
      });

      const SITE = 'query ($id: ID!) { site(id: $id) { authority } }';
      const { id } = rest.edges[0].node;
      expect(await graphql.data(SITE, { id })).toEqual({ site: { authority: 'c.example' } });
      for (const wanted of [randomUUID(), 'nonsense']) expect(await graphql.data(SITE, { id: wanted })).toEqual({ site: null });
      const { secret } = await graphql.newTenant();
      expect(await graphql.data(SITE, { id }, { secret })).toEqual({ site: null });
      const { endCursor: after } = sites.pageInfo;
      expect((await graphql.errors(SITES, { after }, { secret }))[0].extensions.code).toBe('invalid_cursor');
      expect((await graphql.errors(PAGE, { after }))[0].extensions.code).toBe('invalid_cursor');
    }));
});
