import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApiKey } from '#domain/account.ts';
import type { OrganizationId } from '#domain/ids.ts';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { everythingOf, fill, tenantWithCrawls } from '#store/contract/filled.ts';
import { claimNext } from '#store/contract/world.ts';
import { silent as log, urlOf } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from '#store/mongo/open.ts';
import { openSqliteBeside } from '#store/sqlite/beside.ts';
import type { Store } from '#store/store.ts';
import { page, type Route, startSite } from './fixtures/site.ts';
import { apiOf, isFinal, keyOf, runCli, startServer, tempDataDir } from './server-process.ts';
import { openSharedWorld } from './shared-world.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const databaseIn = (directory: string): string => `${directory}/crawlgate.db`;
const urlIn = (directory: string): string => `sqlite:${databaseIn(directory)}`;

const SITE_PAGES = 400;
const ANSWER_MS = 30;
let answerMs = ANSWER_MS;
const pathOf = (n: number): string => (n === 0 ? '/' : `/p${n}`);

const site = await startSite(
  Object.fromEntries(
    Array.from({ length: SITE_PAGES }, (_, n): [string, Route] => {
      const links = Array.from({ length: 10 }, (_, k) => 10 * n + k + 1).filter((target) => target < SITE_PAGES);
      const body = page(n % 2 === 0 ? '' : `Page ${n}`, links.map(pathOf));
      return [
        pathOf(n),
        (_, response) => void setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(body), answerMs),
      ];
    }),
  ),
);
afterAll(() => site.close());

type NewKey = ApiKey & { readonly secret: string };
type List = { readonly data: readonly { readonly id: string }[]; readonly nextCursor: string | null };

async function cliJson<Answer>(dataDir: string, ...words: string[]): Promise<Answer> {
  const { stdout, stderr, code } = await runCli([...words, '--json'], { DATA_DIR: dataDir });
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return JSON.parse(stdout) as Answer;
}

/** Migrates, and answers the counts, which are equal. */
async function migrated(from: string, to: string): Promise<Record<string, number>> {
  const { stdout, stderr, code } = await runCli(['migrate', '--from', from, '--to', to, '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^([\w ]+: \d+\n)+$/i) });
  const counts = JSON.parse(stdout) as { kind: string; source: number; target: number; equal: boolean }[];
  for (const count of counts) expect(count).toMatchObject({ target: count.source, equal: true });
  return Object.fromEntries(counts.map(({ kind, target }) => [kind, target]));
}

const IDEMPOTENT = { method: 'POST', headers: { 'Idempotency-Key': 'the first one' } };

/** Two organizations on a server that is killed while a crawl of the second is under way. */
async function lived(dataDir: string) {
  await using server = await startServer(dataDir, { READ_LIMIT_PER_MINUTE: '0' });
  const key = keyOf(dataDir);
  const api = apiOf(server.url, key);
  const request = { ...IDEMPOTENT, body: JSON.stringify({ url: site.origin, maxUrls: 5 }) };
  const { id: first } = (await (await api.fetch('/v1/crawls', request)).json()) as { id: string };
  await api.until(first, isFinal);
  const second = await api.start({ url: site.origin, maxUrls: 3 });
  await api.until(second, isFinal);

  await cliJson(dataDir, 'orgs', 'create', 'acme');
  const acme = await cliJson<NewKey>(dataDir, 'keys', 'create', '-o', 'acme');
  const revoked = await cliJson<NewKey>(dataDir, 'keys', 'create', '-o', 'acme');
  await cliJson(dataDir, 'keys', 'revoke', revoked.id);
  const acmeApi = apiOf(server.url, acme.secret);
  answerMs = 200; // there is time to look before its end
  const running = await acmeApi.start({ url: site.origin, maxUrls: SITE_PAGES, maxDepth: 20 });
  await acmeApi.until(running, ({ urlsCrawled }) => urlsCrawled > 30);
  answerMs = 2_000; // and none comes while the command runs

  const beside = await runCli(['migrate', '--from', urlIn(dataDir), '--to', urlIn(`${dataDir}-beside`)]);
  expect(beside).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^crawlgate: [^\n]*server is running[^\n]*\n$/) });

  const paths = {
    crawls: '/v1/crawls?limit=1',
    pages: `/v1/crawls/${first}/pages?limit=2`,
    findings: `/v1/crawls/${first}/findings?limit=1`,
  };
  const cursors = await Promise.all(
    Object.values(paths).map(async (path) => {
      const { nextCursor } = await api.get<List>(path);
      if (nextCursor === null) throw new Error(`there is no more at ${path}`);
      return `${path}&cursor=${nextCursor}`;
    }),
  );
  const answers = await Promise.all(cursors.map((path) => api.get<List>(path)));
  const detail = await api.detail(first);
  expect((await acmeApi.detail(running)).state).toBe('running');
  server.kill('SIGKILL');
  await server.ended;
  answerMs = ANSWER_MS;
  return { key, first, second, running, acme, revoked, request, cursors, answers, detail };
}

/** A server on what was moved goes on as the one before: by ids, cursors, keys and idempotency keys, and with the crawl that ran. */
async function expectSame(serverUrl: string, before: Awaited<ReturnType<typeof lived>>): Promise<void> {
  const { key, first, running, acme, revoked, request, cursors, answers, detail } = before;
  const [api, acmeApi] = [apiOf(serverUrl, key), apiOf(serverUrl, acme.secret)];
  expect(await api.detail(first)).toEqual(detail);
  expect(await Promise.all(cursors.map((path) => api.get<List>(path)))).toEqual(answers);
  const replayed = await api.fetch('/v1/crawls', request);
  expect({ status: replayed.status, body: await replayed.json() }).toMatchObject({ status: 202, body: { id: first } });
  expect((await apiOf(serverUrl, revoked.secret).fetch('/v1/ping')).status).toBe(401);
  const ended = await acmeApi.until(running, isFinal);
  expect(ended).toMatchObject({ state: 'done', urlsCrawled: SITE_PAGES });
  const pages = await acmeApi.pages(running);
  expect(pages.filter(({ status }) => status === 'fetched')).toHaveLength(SITE_PAGES);
  expect(new Set(pages.map(({ url }) => url)).size).toBe(pages.length);
  expect(await acmeApi.settled()).toMatchObject({ used: SITE_PAGES });
  expect(await api.settled()).toMatchObject({ used: 8 });
}

async function expectSameIn(dataDir: string, before: Awaited<ReturnType<typeof lived>>): Promise<void> {
  await using server = await startServer(dataDir, { READ_LIMIT_PER_MINUTE: '0' });
  await expectSame(server.url, before);
}

describe('crawlgate migrate', () => {
  it('moves a server to another SQLite store: it goes on there as if nothing had been', { timeout: 240_000 }, async () => {
    using source = tempDataDir();
    using target = tempDataDir();
    const before = await lived(source.path);
    expect(await migrated(urlIn(source.path), urlIn(target.path))).toMatchObject({
      organizations: 2,
      crawls: 3,
      'API keys': 3,
      'idempotency keys': 1,
    });
    await expectSameIn(target.path, before);
  });

  it.each([
    ['no source', [`--to`, 'sqlite:x.db'], /required option '--from/],
    [
      'a scheme that is no store',
      ['--from', 'redis://u:s3cret@h', '--to', 'sqlite:x.db'],
      /--from has the scheme "redis", which is not supported/,
    ],
    [
      'a password with an @ in it',
      ['--from', 'sqlite:x.db', '--to', 'mongodb://u:s3cret@s3cret@h/x'],
      /--to is not a MongoDB connection string/,
    ],
    [
      'an option that MongoDB has not',
      ['--from', 'mongodb://u:s3cret@h/x?speed=s3cret', '--to', 'sqlite:x.db'],
      /mongodb:\/\/h:27017\/x: The URL/,
    ],
    ['SQLite in memory', ['--from', 'sqlite::memory:', '--to', 'sqlite:x.db'], /--from is not the path of a file/],
    ['the same file twice', ['--from', 'sqlite:data/x.db', '--to', 'sqlite:./data/../data/x.db'], /--from and --to are the same store/],
    [
      'the same database twice',
      ['--from', 'mongodb://u:s3cret@h,i', '--to', 'mongodb://I:27017,h/crawlgate?w=1'],
      /are the same store, mongodb:\/\/h:27017,i:27017\/crawlgate/,
    ],
  ])('refuses %s in one line that shows no password, with exit code 2', async (_, words, message) => {
    const { code, stdout, stderr } = await runCli(['migrate', ...words]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^crawlgate: [^\n]+\n$/);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('s3cret');
  });

  it('fails with one line, and makes nothing, when there is no source', async () => {
    using source = tempDataDir();
    using target = tempDataDir();
    const ended = await runCli(['migrate', '--from', urlIn(source.path), '--to', urlIn(target.path)]);
    expect(ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^crawlgate: sqlite:[^\n]+: there is no such database\n$/),
    });
    const gone = await runCli(['migrate', '--from', 'mongodb://u:s3cret@127.0.0.1:1/x', '--to', urlIn(target.path)]);
    expect(gone).toMatchObject({ code: 1, stdout: '', stderr: 'crawlgate: mongodb://127.0.0.1:1/x: The database does not answer.\n' });
  });

  it('shows how it is used, in lines of at most 140 characters', async () => {
    const { code, stdout } = await runCli(['migrate', '--help']);
    expect(code).toBe(0);
    for (const word of ['--from', '--to', '--organization', 'Examples:', 'Stop every server']) expect(stdout).toContain(word);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(140);
  });
});

const KILLS = 5;
const CRAWLS = 3;
const PAGES = 400;

/** Beside what else is open on it; made when absent. */
function openAny(url: string): Promise<Store> {
  if (!url.startsWith('sqlite:')) return openMongoStore({ url, log, settings: DEFAULT_MONGO_SETTINGS });
  const path = url.slice('sqlite:'.length);
  mkdirSync(dirname(path), { recursive: true });
  return openSqliteBeside({ path });
}

/** Migrates, and kills the process once the target has a crawl of the organization; answers the signal that it ended by. */
async function killed(from: string, to: string, target: Store, organizationId: OrganizationId): Promise<NodeJS.Signals | null> {
  const child: ChildProcess = spawn(process.execPath, [MAIN, 'migrate', '--from', from, '--to', to], { stdio: 'ignore' });
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  let running = true;
  void exited.then(() => (running = false));
  while (running && (await target.countCopies('crawl', organizationId)) === 0) await new Promise((resolve) => setImmediate(resolve));
  child.kill('SIGKILL');
  return (await exited)[1];
}

function killTests(name: string, newTarget: () => string): void {
  it(`to ${name}, killed again and again, is completed by the same command and doubles nothing`, { timeout: 240_000 }, async () => {
    using source = tempDataDir();
    const from = urlIn(source.path);
    const store = await openAny(from);
    const { tenant: filled, running } = await fill(store);
    const tenants = [filled];
    const to = newTarget();
    const read = await openAny(to);
    // a kill that comes too late, when all is there, is none: each has something new before it
    for (let kills = 0; kills < KILLS; ) {
      const tenant = await tenantWithCrawls(store, { crawls: CRAWLS, pages: PAGES });
      tenants.push(tenant);
      if ((await killed(from, to, read, tenant.organizationId)) === 'SIGKILL') kills++;
    }
    const crawls = (tenants.length - 1) * CRAWLS;
    expect(await migrated(from, to)).toMatchObject({ organizations: tenants.length, crawls: crawls + 3, pages: crawls * PAGES + 65 });
    for (const one of tenants) expect(await everythingOf(read, one)).toEqual(await everythingOf(store, one));
    expect((await claimNext(read)).snapshot.id).toBe(running);
    await Promise.all([read.close(), store.close()]);
  });
}

describe('a migration', () => {
  const directory = tempDataDir();
  afterAll(() => directory[Symbol.dispose]());
  killTests('SQLite', () => urlIn(directory.path));
});

withServer('crawlgate migrate with MongoDB', (url, admin) => {
  const names: string[] = [];
  const newUrl = (): string => {
    const name = `crawlgate-${randomUUID()}`;
    names.push(name);
    return urlOf(url, name);
  };
  afterAll(async () => {
    for (const name of names) await admin.db(name).dropDatabase();
  });

  withRedisServer(() =>
    it('moves a server to MongoDB, where a gateway and a worker go on as if nothing had been, and back', { timeout: 240_000 }, async () => {
      using source = tempDataDir();
      using target = tempDataDir();
      const before = await lived(source.path);
      await using world = openSharedWorld(url, admin);
      const mongo = world.environment.STORE_URL ?? '';
      expect(await migrated(urlIn(source.path), mongo)).toMatchObject({
        organizations: 2,
        crawls: 3,
        'API keys': 3,
        'idempotency keys': 1,
      });
      const fetchedBefore = site.paths().length;
      await using cluster = await world.cluster({ gateways: 1, workers: 1, environment: { CRAWLGATE_API_KEY: before.key } });
      await expectSame(cluster.gateways[0]?.url ?? '', before);
      // what was stored before is not fetched again
      expect(site.paths().length - fetchedBefore).toBeLessThan(SITE_PAGES);
      await cluster.stop();

      const refused = await runCli(['migrate', '--from', urlIn(source.path), '--to', mongo]);
      expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('with other content') });
      await migrated(mongo, urlIn(target.path));
      await expectSameIn(target.path, before);
    }),
  );

  it('is refused while a worker runs crawls on MongoDB', async () => {
    using source = tempDataDir();
    const mongo = newUrl();
    const store = await openMongoStore({ url: mongo, log, settings: DEFAULT_MONGO_SETTINGS });
    const { tenant, running, token } = await fill(store);
    const refused = await runCli(['migrate', '--from', mongo, '--to', urlIn(source.path)]);
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('a worker is running crawls there') });
    await store.release(running, token);
    expect(await migrated(mongo, urlIn(source.path))).toMatchObject({ organizations: 1, crawls: 3 });
    expect(await store.countCopies('crawl', tenant.organizationId)).toBe(3);
    await store.close();
  });

  killTests('MongoDB', newUrl);
});
