import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiKey, Organization } from '#domain/account.ts';
import { apiOf, keyOf, runCli, type ServerProcess, startServer, tempDataDir } from './server-process.ts';

type Shown<Kind> = { [Field in keyof Kind]: Field extends `${string}At` ? string | null : Kind[Field] };
type NewKey = Shown<ApiKey> & { secret: string };

describe('the command line', () => {
  it('shows its commands, examples and exit codes as help', async () => {
    const { stdout, stderr, code } = await runCli(['--help']);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    for (const word of ['serve', 'orgs', 'keys', 'migrate', 'openapi', 'config', 'Examples:', 'Exit codes:'])
      expect(stdout).toContain(word);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
  });

  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it.each([
    [['surf']],
    [['serve', '--fast']],
    [['serve', '--role', 'all-of-it']],
    [['orgs', 'create']],
    [['orgs', 'create', 'No Good']],
    [['orgs', 'set-quota', 'default', '-5']],
    [['orgs', 'set-quota', 'default', 'many']],
    [['keys', 'create', '--scopes', 'crawls:read,root']],
    [['keys', 'revoke', 'not-an-id']],
  ])('refuses %j in one line on stderr, with exit code 2', async (words) => {
    using dataDir = tempDataDir();
    const ended = await runCli(words, { DATA_DIR: dataDir.path });
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^crawlgate: [^\n]+\n$/) });
  });

  it('prints the OpenAPI document, with the address that PUBLIC_URL says', async () => {
    const { stdout, code } = await runCli(['openapi'], { PUBLIC_URL: 'https://crawl.example' });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://crawl.example' }] });
  });

  it('lists the variables of the configuration', async () => {
    const { stdout } = await runCli(['config']);
    for (const name of ['PORT', 'CRAWLGATE_API_KEY', 'RETENTION_DAYS']) expect(stdout).toContain(name);
  });

  it('makes organizations and keys before the first start', async () => {
    using dataDir = tempDataDir();
    const environment = { DATA_DIR: dataDir.path };
    expect(await runCli(['orgs', 'create', 'acme'], environment)).toMatchObject({ code: 0, stderr: '' });
    const key = JSON.parse((await runCli(['keys', 'create', '-o', 'acme', '--json'], environment)).stdout) as NewKey;
    await using server = await startServer(dataDir.path);
    const pong = await apiOf(server.url, key.secret).get<{ organizationId: string }>('/v1/ping');
    expect(pong.organizationId).toBe(key.organizationId);
    expect(keyOf(dataDir.path)).not.toBe(key.secret);
  });
});

describe('the command line beside a running server', () => {
  const dataDir = tempDataDir();
  const environment = { DATA_DIR: dataDir.path };
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(dataDir.path);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    dataDir[Symbol.dispose]();
  });

  const run = async <Answer>(...words: string[]): Promise<Answer> => {
    const { stdout, stderr, code } = await runCli([...words, '--json'], environment);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    return JSON.parse(stdout) as Answer;
  };
  const pingBy = async (secret: string): Promise<number> => (await apiOf(server.url, secret).fetch('/v1/ping')).status;

  it('creates and lists organizations, with the quota that new ones get unless one is given', async () => {
    const created = await run<Shown<Organization>>('orgs', 'create', 'first');
    expect(created).toMatchObject({ name: 'first', monthlyUrlQuota: 100_000, createdAt: expect.stringMatching(/^\d{4}-.*Z$/) });
    await run('orgs', 'create', 'second', '--quota', '7');
    const listed = await run<Shown<Organization>[]>('orgs', 'list');
    expect(listed.map(({ name, monthlyUrlQuota }) => [name, monthlyUrlQuota])).toEqual([
      ['default', 100_000],
      ['first', 100_000],
      ['second', 7],
    ]);
    const table = (await runCli(['orgs', 'list'], environment)).stdout.split('\n');
    expect(table[0]).toMatch(/^NAME +ID +QUOTA A MONTH +CREATED$/);
    expect(table.find((line) => line.startsWith('second'))).toMatch(/^second +[0-9a-f-]{36} +7 +\d{4}-/);
  });

  it('refuses a second organization of a name', async () => {
    await run('orgs', 'create', 'twice');
    const again = await runCli(['orgs', 'create', 'twice'], environment);
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: 'crawlgate: there is an organization "twice" already\n' });
  });

  it('sets a quota, which the server obeys at once', async () => {
    await run('orgs', 'create', 'capped');
    const { secret } = await run<NewKey>('keys', 'create', '-o', 'capped');
    const api = apiOf(server.url, secret);
    expect(await api.usage()).toMatchObject({ limit: 100_000 });
    expect(await run('orgs', 'set-quota', 'capped', '0')).toMatchObject({ name: 'capped', monthlyUrlQuota: 0 });
    expect(await api.usage()).toMatchObject({ limit: 0, remaining: 0 });
    const refused = await api.fetch('/v1/crawls', { method: 'POST', body: JSON.stringify({ url: 'https://example.com/' }) });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: 'quota_exceeded' });
  });

  it('names an organization that does not exist', async () => {
    const ended = await runCli(['orgs', 'set-quota', 'nobody', '5'], environment);
    expect(ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^crawlgate: there is no organization "nobody";.*\n$/),
    });
  });

  it('shows the secret of a new key once, and keeps only enough of it to tell keys apart', async () => {
    const made = await runCli(['keys', 'create', '--name', 'shown'], environment);
    const [secret = ''] = /cg_[\w-]{43}/.exec(made.stdout) ?? [];
    expect(await pingBy(secret)).toBe(200);
    const { stdout } = await runCli(['keys', 'list'], environment);
    expect(stdout).toMatch(/^\S{36} +shown +cg_\S{4}… +crawls:read,crawls:write,webhooks:write +\S+Z +–$/m);
    expect(stdout).not.toContain(secret);
    expect(readFileSync(`${dataDir.path}/crawlgate.db`).includes(secret)).toBe(false);
    expect(readFileSync(`${dataDir.path}/crawlgate.db-wal`).includes(secret)).toBe(false);
  });

  it('gives a key the scopes that were asked for, and the server holds it to them', async () => {
    const { secret, scopes } = await run<NewKey>('keys', 'create', '--name', 'reader', '--scopes', 'crawls:read');
    expect(scopes).toEqual(['crawls:read']);
    const api = apiOf(server.url, secret);
    expect((await api.fetch('/v1/crawls')).status).toBe(200);
    const refused = await api.fetch('/v1/crawls', { method: 'POST', body: JSON.stringify({ url: 'https://example.com/' }) });
    expect(await refused.json()).toMatchObject({ status: 403, code: 'insufficient_scope' });
    expect(await run<NewKey>('keys', 'create', '--scopes', 'metrics')).toMatchObject({ scopes: ['metrics'] });
  });

  it('rotates a key: the new secret is taken, the old one refused within a second', async () => {
    const { id, secret } = await run<NewKey>('keys', 'create', '--name', 'rotated');
    expect(await pingBy(secret)).toBe(200);
    const rotated = await run<NewKey>('keys', 'rotate', id);
    const refused = apiOf(server.url, secret).refusedWithin(1_000);
    expect(rotated.secret).not.toBe(secret);
    expect(await pingBy(rotated.secret)).toBe(200);
    await refused;
  });

  it('revokes a key, which stops within a second and does not come back', async () => {
    const { id, secret } = await run<NewKey>('keys', 'create', '--name', 'revoked');
    expect(await pingBy(secret)).toBe(200);
    const revoked = await run<NewKey>('keys', 'revoke', id);
    await apiOf(server.url, secret).refusedWithin(1_000);
    expect(revoked.revokedAt).toMatch(/Z$/);
    const rotated = await runCli(['keys', 'rotate', id], environment);
    expect(rotated).toMatchObject({ code: 1, stdout: '', stderr: `crawlgate: key ${id} is revoked\n` });
  });

  it('names a key that does not exist', async () => {
    const id = '11111111-2222-4333-8444-555555555555';
    for (const verb of ['rotate', 'revoke']) {
      const ended = await runCli(['keys', verb, id], environment);
      expect(ended).toMatchObject({ code: 1, stdout: '', stderr: `crawlgate: there is no key ${id}; see \`crawlgate keys list\`\n` });
    }
  });
});

describe('bin/crawlgate.js', () => {
  const wrapper = fileURLToPath(new URL('../bin/crawlgate.js', import.meta.url));
  const runWrapper = (flags: readonly string[]): Promise<{ code: number; stderr: string }> =>
    new Promise((resolve) => {
      const child = execFile(process.execPath, [...flags, wrapper, 'orgs', 'sing'], (_error, _stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, stderr });
      });
    });

  it('runs the command line', async () => {
    expect(await runWrapper([])).toEqual({ code: 2, stderr: expect.stringMatching(/^crawlgate: unknown command 'sing'.*\n$/) });
  });

  it('says in one line which Node is needed when it is run by an older one', async () => {
    const asOld = "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})";
    expect(await runWrapper(['--import', asOld])).toEqual({
      code: 2,
      stderr: 'crawlgate: needs Node 24 or newer, and this is Node 20.20.2\n',
    });
  });
});
