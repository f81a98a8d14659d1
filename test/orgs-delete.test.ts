import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { createClient } from 'graphql-ws';
import { afterAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ApiKey } from '#domain/account.ts';
import { DEFAULT_ORGANIZATION_ID, type OrganizationId } from '#domain/ids.ts';
import { openEventStream } from '#http/fixtures/event-stream.ts';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { everythingOf, fill, tenantWithCrawls } from '#store/contract/filled.ts';
import { answered } from '#store/contract/world.ts';
import { silent as log, recordsIn as recordsInMongo, urlOf } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from '#store/mongo/open.ts';
import { openSqliteBeside } from '#store/sqlite/beside.ts';
import { recordsIn } from '#store/sqlite/fixtures/harness.ts';
import type { Store } from '#store/store.ts';
import { type EndlessSite, startEndlessSite } from './fixtures/endless-site.ts';
import { apiOf, type Environment, isFinal, keyOf, runCli, spawnCli, startServer, tempDataDir } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const ENDLESS = { maxUrls: 10_000, maxDepth: 100_000 };
const DAY_MS = 24 * 60 * 60 * 1_000;
const TIMES = { timeout: 90_000 };
const databaseIn = (directory: string): string => `${directory}/crawlgate.db`;

type NewKey = ApiKey & { readonly secret: string };
type Removed = { readonly id: string; readonly name: string; readonly removedAt: string; readonly removed: Record<string, number> };

async function cliJson<Answer>(environment: Environment, ...words: string[]): Promise<Answer> {
  const { stdout, stderr, code } = await runCli([...words, '--json'], environment);
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return JSON.parse(stdout) as Answer;
}

/** A stream of which the first update has come. */
type Watched = { readonly ended: Promise<unknown> };

async function watchOverSse(url: string, key: string, id: string): Promise<Watched> {
  const stream = await openEventStream(Number(new URL(url).port), `/v1/crawls/${id}/updates`, { authorization: `Bearer ${key}` });
  expect(stream.status).toBe(200);
  await stream.next();
  return { ended: stream.rest() };
}

async function watchOverSocket(url: string, key: string, id: string): Promise<Watched> {
  const first = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}` },
    retryAttempts: 0,
    on: { closed: ended.resolve },
  });
  const query = `subscription { crawlUpdated(id: "${id}") { version } }`;
  client.subscribe({ query }, { next: () => first.resolve(), error: ended.resolve, complete: () => ended.resolve(null) });
  await first.promise;
  return { ended: ended.promise };
}

type World = {
  /** Of the command line. */
  readonly environment: Environment;
  readonly urls: readonly string[];
  /** Of the organization `default`. */
  readonly key: string;
  /** What the processes have logged. */
  readonly logged: () => readonly string[];
  /** All that is stored, as text. */
  readonly records: () => Promise<string[]>;
};

/** An organization is removed while a crawl of it runs and is watched, and a crawl of another one, too. */
async function expectRemoved({ environment, urls, key, logged, records }: World, sites: readonly [EndlessSite, EndlessSite]) {
  const [site, otherSite] = sites;
  const [url = '', otherUrl = url] = urls;
  await cliJson(environment, 'orgs', 'create', 'acme');
  const acme = await cliJson<NewKey>(environment, 'keys', 'create', '-o', 'acme');
  const apis = urls.map((each) => apiOf(each, acme.secret));
  const other = apiOf(otherUrl, key);
  const [api = other] = apis;
  const id = await api.start({ url: site.origin, ...ENDLESS });
  const otherId = await other.start({ url: otherSite.origin, ...ENDLESS });
  await api.until(id, ({ urlsCrawled }) => urlsCrawled > 20);
  await other.until(otherId, ({ urlsCrawled }) => urlsCrawled > 20);
  const streams = await Promise.all(urls.flatMap((each) => [watchOverSse(each, acme.secret, id), watchOverSocket(each, acme.secret, id)]));
  for (const each of apis) expect((await each.fetch('/v1/ping')).status).toBe(200);

  const preview = await runCli(['orgs', 'delete', 'acme', '--json'], environment);
  expect(preview).toMatchObject({ code: 2, stderr: expect.stringContaining('--confirm acme') });
  expect(JSON.parse(preview.stdout)).toEqual({ id: acme.organizationId, name: 'acme', crawls: 1, running: 1, keys: 1, sites: 1 });
  expect((await api.detail(id)).state).toBe('running');

  const removed = await cliJson<Removed>(environment, 'orgs', 'delete', 'acme', '--confirm', 'acme');
  const since = performance.now();
  await Promise.all(apis.map((each) => each.refusedWithin(1_000)));
  await Promise.all(streams.map(({ ended }) => ended));
  expect(performance.now() - since).toBeLessThan(5_500);
  expect(removed).toMatchObject({ id: acme.organizationId, name: 'acme', removedAt: expect.stringMatching(/Z$/) });
  expect(removed.removed).toMatchObject({ organizations: 1, crawls: 1, sites: 1, 'API keys': 1 });
  expect(removed.removed.pages).toBeGreaterThan(20);

  // the worker lets go, what was under way is answered, and then nothing is asked for any more
  while (!logged().some((line) => line.includes(id) && line.includes('run ended before its crawl'))) await other.detail(otherId);
  const { urlsCrawled } = await other.detail(otherId);
  await other.until(otherId, (now) => now.urlsCrawled > urlsCrawled + 30);
  const answers = site.answers();
  await other.until(otherId, (now) => now.urlsCrawled > urlsCrawled + 90);
  expect(site.answers()).toBe(answers);

  const gone = [acme.organizationId, acme.id, id, 'acme', site.origin];
  const found = (await records()).filter((record) => gone.some((text) => record.includes(text)));
  // robots.txt files are kept by origin, for nobody in particular
  expect(found.filter((record) => !record.startsWith('robots: '))).toEqual([]);

  otherSite.end();
  const detail = await other.until(otherId, isFinal);
  expect(detail).toMatchObject({ state: 'done', error: null });
  expect(await other.usage()).toMatchObject({ used: detail.urlsCrawled, reserved: 0 });
  expect((await cliJson<{ name: string }[]>(environment, 'orgs', 'list')).map(({ name }) => name)).toEqual(['default']);

  await cliJson(environment, 'orgs', 'create', 'acme', '--quota', '7');
  const again = await cliJson<NewKey>(environment, 'keys', 'create', '-o', 'acme');
  for (const each of urls) {
    expect(await apiOf(each, again.secret).usage()).toMatchObject({ limit: 7, used: 0 });
    expect(await apiOf(each, again.secret).list('/v1/crawls')).toEqual([]);
  }
}

async function withSites(body: (sites: readonly [EndlessSite, EndlessSite]) => Promise<void>): Promise<void> {
  const sites = [await startEndlessSite(), await startEndlessSite()] as const;
  try {
    await body(sites);
  } finally {
    await Promise.all(sites.map((site) => site.close()));
  }
}

describe('crawlgate orgs delete', () => {
  it('removes an organization beside a running server, a crawl and its watchers with it, and nothing of others', TIMES, () =>
    withSites(async (sites) => {
      using dataDir = tempDataDir();
      await using server = await startServer(dataDir.path, { READ_LIMIT_PER_MINUTE: '0' });
      const environment = { DATA_DIR: dataDir.path };
      const world = { environment, urls: [server.url], key: keyOf(dataDir.path), logged: () => server.output.stderr.split('\n') };
      await expectRemoved({ ...world, records: async () => recordsIn(databaseIn(dataDir.path)) }, sites);
    }),
  );

  it('asks for the name as proof, and names what there is not', async () => {
    using dataDir = tempDataDir();
    const environment = { DATA_DIR: dataDir.path };
    await cliJson(environment, 'orgs', 'create', 'acme');
    const shown = await runCli(['orgs', 'delete', 'acme'], environment);
    expect(shown).toMatchObject({ code: 2, stderr: expect.stringMatching(/^crawlgate: nothing was removed: [^\n]+ --confirm acme\n$/) });
    expect(shown.stdout).toMatch(/^name +acme\ncrawls +0\nrunning +0\nkeys +0\nsites +0$/m);
    for (const wrong of ['Acme', 'acm', ''])
      expect(await runCli(['orgs', 'delete', 'acme', '--confirm', wrong], environment)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: 'crawlgate: nothing was removed: --confirm must be the name exactly, acme\n',
      });
    expect(await runCli(['orgs', 'delete', 'nobody', '--confirm', 'nobody'], environment)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'crawlgate: there is no organization "nobody"; see `crawlgate orgs list`\n',
    });
    const table = await runCli(['orgs', 'delete', 'acme', '--confirm', 'acme'], environment);
    expect(table).toMatchObject({ code: 0, stderr: '' });
    expect(table.stdout).toMatch(/^KIND +REMOVED\norganizations +1\n/);
  });

  it('refuses the organization "default", with the reason', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path);
    const ended = await runCli(['orgs', 'delete', 'default', '--confirm', 'default'], { DATA_DIR: dataDir.path });
    expect(ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/the next start would make it again.*revoke its keys/),
    });
    expect(await apiOf(server.url, keyOf(dataDir.path)).get('/v1/ping')).toMatchObject({ organizationId: DEFAULT_ORGANIZATION_ID });
  });

  it('has a help that says what is to be known before', async () => {
    const { stdout, code } = await runCli(['orgs', 'delete', '--help']);
    expect(code).toBe(0);
    for (const word of ['--confirm', 'Nothing brings it back', 'default', 'Examples:']) expect(stdout).toContain(word);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(140);
  });
});

const CRAWLS = 6;
const PAGES = 900;

/** A tenant with thousands of pages, and another one. */
async function filled(store: Store) {
  const tenant = await tenantWithCrawls(store, { crawls: CRAWLS, pages: PAGES });
  return { tenant, other: (await fill(store)).tenant };
}

type Opened = { store: Store; environment: Environment; countPages: () => Promise<number>; close: () => Promise<void> };

function cutTests(name: string, open: () => Promise<Opened>): void {
  it(`that is stopped, or killed, on ${name} is completed by the same command`, { timeout: 120_000 }, async () => {
    const { store, environment, countPages, close } = await open();
    try {
      const { tenant, other } = await filled(store);
      const id: OrganizationId = tenant.organizationId;
      const { name: organization } = answered(await store.findOrganization(id));
      const untouched = await everythingOf(store, other);
      const words = ['orgs', 'delete', id, '--confirm', organization];
      const pagesBelow = async (most: number): Promise<void> => {
        while ((await countPages()) >= most) await new Promise((resolve) => setImmediate(resolve));
      };
      const stopped = spawnCli(words, environment);
      await pagesBelow(await countPages());
      stopped.kill('SIGINT');
      expect(await stopped.ended).toMatchObject({ code: 1 });
      expect(stopped.output.stderr).toMatch(/^crawlgate: stopped before the end: .* the same command goes on, and so does any worker\n$/);
      const [removal] = await store.listOrganizationRemovals();
      expect(removal).toMatchObject({ id, name: organization });
      expect(await runCli(['orgs', 'create', organization], environment)).toMatchObject({
        code: 1,
        stderr: `crawlgate: there is an organization "${organization}" already, which is being removed\n`,
      });
      for (const verb of ['create', 'list'])
        expect(await runCli(['keys', verb, '-o', organization], environment)).toMatchObject({
          code: 1,
          stderr: `crawlgate: the organization "${organization}" is being removed\n`,
        });

      const killed = spawnCli(words, environment);
      await pagesBelow(await countPages());
      killed.kill('SIGKILL');
      expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
      expect(await store.listOrganizationRemovals()).toEqual([removal]);

      const last = await runCli([...words, '--json'], environment);
      const removedAt = new Date(removal?.removedAt ?? 0).toISOString();
      expect(last).toMatchObject({ code: 0, stderr: expect.stringContaining(`has been under way since ${removedAt}`) });
      expect(JSON.parse(last.stdout)).toMatchObject({ id, name: organization, removedAt });
      expect(await store.listOrganizationRemovals()).toEqual([]);
      expect(Object.values(await everythingOf(store, tenant)).flat()).toEqual([]);
      expect(await everythingOf(store, other)).toEqual(untouched);
      expect(await runCli(words, environment)).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no organization') });
    } finally {
      await close();
    }
  });
}

describe('a removal', () => {
  cutTests('SQLite', async () => {
    const directory = tempDataDir();
    const environment = { DATA_DIR: directory.path };
    await cliJson(environment, 'orgs', 'list');
    const store = await openSqliteBeside({ path: databaseIn(directory.path) });
    return {
      store,
      environment,
      countPages: async () => {
        const db = new DatabaseSync(databaseIn(directory.path), { readOnly: true });
        const count = Number(db.prepare('select count(*) as count from pages').get()?.count);
        db.close();
        return count;
      },
      async close() {
        await store.close();
        directory[Symbol.dispose]();
      },
    };
  });
});

withServer('crawlgate orgs delete on MongoDB', (url, admin) => {
  const names: string[] = [];
  afterAll(async () => {
    for (const name of names) await admin.db(name).dropDatabase();
  });

  cutTests('MongoDB', async () => {
    const name = `crawlgate-${randomUUID()}`;
    names.push(name);
    const store = await openMongoStore({ url: urlOf(url, name), log, settings: DEFAULT_MONGO_SETTINGS });
    const countPages = () => admin.db(name).collection('pages').countDocuments();
    return { store, environment: { STORE_URL: urlOf(url, name) }, countPages, close: () => store.close() };
  });

  withRedisServer(() =>
    it('removes an organization beside two gateways and two workers, a crawl and its watchers with it', TIMES, () =>
      withSites(async (sites) => {
        await using world = openSharedWorld(url, admin);
        const lines: string[] = [];
        await using cluster = await world.cluster({ onLine: (_, line) => lines.push(line) });
        const urls = cluster.gateways.map((gateway) => gateway.url);
        const isMemory = (record: string): boolean => /^(trash|removals): /.test(record);
        /** What a day later is looked for; right after the end, pages of a batch that was under way may have come late. */
        const records = async () => {
          const memory = (await recordsInMongo(world.database)).filter(isMemory);
          const shape = memory.map((record) => record.replaceAll(/[0-9a-f-]{36}/g, '<id>').replaceAll(/"2\d{3}-[^"]+Z"/g, '<time>'));
          expect(shape).toEqual([
            'trash: {"_id":"<id>","idempotencyId":null,"emptiedAt":<time>}',
            'removals: {"_id":"<id>","keyIds":["<id>"],"endedAt":<time>}',
          ]);
          const longAgo = new Date(0);
          await world.database.collection('trash').updateMany({}, { $set: { emptiedAt: longAgo } });
          await world.database.collection('removals').updateMany({}, { $set: { endedAt: longAgo } });
          const store = await openMongoStore({ url: world.environment.STORE_URL ?? '', log, settings: DEFAULT_MONGO_SETTINGS });
          while ((await store.sweep({ crawlsMs: DAY_MS, idempotencyMs: DAY_MS })) > 0);
          await store.close();
          return recordsInMongo(world.database);
        };
        await expectRemoved({ environment: world.environment, urls, key: KEY, logged: () => lines, records }, sites);
      }),
    ),
  );
});
