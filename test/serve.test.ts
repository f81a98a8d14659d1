import { statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startRowSite } from './fixtures/row-site.ts';
import { page, type Site, startSite } from './fixtures/site.ts';
import { apiOf, isFinal, keyOf, runCli, startServer, tempDataDir } from './server-process.ts';

const SECRET = 'operator-chosen-secret-0123456789';

/** Three pages, one of them without a title, and a broken link. */
const smallSite = (): Promise<Site> =>
  startSite({ '/': page('Home', ['/a', '/b', '/gone']), '/a': page('A'), '/b': '<html><body>no title</body></html>' });

describe('serve', async () => {
  const site = await smallSite();
  afterAll(() => site.close());

  it('takes a crawl through REST to done, with its findings', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path);
    const api = apiOf(server.url, keyOf(dataDir.path));
    const id = await api.start({ url: site.origin });
    const detail = await api.until(id, isFinal);
    expect(detail).toEqual({ id, host: '127.0.0.1', state: 'done', urlsCrawled: 4, findingsCount: expect.any(Number), error: null });
    const findings = await api.get<{ data: { rule: string }[] }>(`/v1/crawls/${id}/findings`);
    expect(findings.data).toHaveLength(detail.findingsCount ?? -1);
    expect(new Set(findings.data.map(({ rule }) => rule))).toContain('title.missing');
    expect(new Set(findings.data.map(({ rule }) => rule))).toContain('link.broken_internal');
    expect(site.seen.every(({ userAgent }) => /^crawlgate\/\d+\.\d+\.\d+ \(\+http:\/\/127\.0\.0\.1:\d+\)$/.test(userAgent))).toBe(true);
  });

  it('tells its address in one line on stdout, and is ready by then', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path);
    expect(server.output.stdout.split('\n').filter((line) => line.includes('http://'))).toEqual([expect.stringContaining(server.url)]);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('writes the first key to a file for its owner alone, in a directory for its owner alone', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path);
    const file = join(dataDir.path, 'api-key');
    expect(server.output.stdout).toContain(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir.path).mode & 0o777).toBe(0o700);
    expect(statSync(join(dataDir.path, 'crawlgate.db')).mode & 0o077).toBe(0);
    expect(keyOf(dataDir.path)).toMatch(/^cg_[\w-]{43}$/);
    expect(server.output.stdout).not.toContain(keyOf(dataDir.path));
  });

  it('says nothing of keys at a later start, and keeps the key', async () => {
    using dataDir = tempDataDir();
    {
      await using server = await startServer(dataDir.path);
      server.kill('SIGTERM');
      await server.ended;
    }
    await using server = await startServer(dataDir.path);
    expect(server.output.stdout.trim().split('\n')).toHaveLength(1);
    expect((await apiOf(server.url, keyOf(dataDir.path)).fetch('/v1/ping')).status).toBe(200);
  });

  it('gives the default key the secret that CRAWLGATE_API_KEY says, at a later start too', async () => {
    using dataDir = tempDataDir();
    {
      await using server = await startServer(dataDir.path, { CRAWLGATE_API_KEY: SECRET });
      expect((await apiOf(server.url, SECRET).fetch('/v1/ping')).status).toBe(200);
      expect(() => keyOf(dataDir.path)).toThrow('ENOENT');
    }
    await using server = await startServer(dataDir.path, { CRAWLGATE_API_KEY: `${SECRET}-new` });
    expect((await apiOf(server.url, SECRET).fetch('/v1/ping')).status).toBe(401);
    expect((await apiOf(server.url, `${SECRET}-new`).fetch('/v1/ping')).status).toBe(200);
    expect(server.output.stdout).not.toContain(SECRET);
  });

  it('gives the default key every scope', async () => {
    using dataDir = tempDataDir();
    await using _server = await startServer(dataDir.path);
    const { stdout } = await runCli(['keys', 'list', '--json'], { DATA_DIR: dataDir.path });
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'default', scopes: ['crawls:read', 'crawls:write', 'webhooks:write', 'metrics'] }]);
  });

  it('refuses a data directory that another server runs on', async () => {
    using dataDir = tempDataDir();
    await using first = await startServer(dataDir.path);
    const second = await runCli(['serve'], { DATA_DIR: dataDir.path, PORT: '0' });
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr.trim().split('\n')).toHaveLength(1);
    expect(second.stderr).toContain(dataDir.path);
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
  });

  it('refuses a port that something else listens on, and leaves no process behind', async () => {
    using dataDir = tempDataDir();
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const ended = await runCli(['serve'], { DATA_DIR: dataDir.path, PORT: String(port), LOG_LEVEL: 'silent' });
    other.close();
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(`^crawlgate: .*:${port}: .*PORT.*\\n$`)) });
  });

  it('refuses a DATA_DIR that is a file, naming it', async () => {
    using dataDir = tempDataDir();
    const file = join(dataDir.path, '..', 'file');
    writeFileSync(file, '');
    const ended = await runCli(['serve'], { DATA_DIR: file, PORT: '0' });
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^crawlgate: DATA_DIR .*\n$/) });
  });

  // The start went round in a circle below /proc, and heard no signal.
  it.each([
    ['below which no directory can be made', '/proc/crawlgate/data', 'no directory can be made there'],
    ['in which no file can be made', '/proc', 'unable to open database file'],
    ['below a file', '/etc/hostname/data', 'a part of it is not a directory'],
  ])('refuses a DATA_DIR %s at once, in one line', async (_, path, why) => {
    const ended = await runCli(['serve'], { DATA_DIR: path, PORT: '0', LOG_LEVEL: 'silent' });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr.trim().split('\n')).toHaveLength(1);
    expect(ended.stderr).toMatch(new RegExp(`^crawlgate: .*${path}.*${why}`));
  });

  it('writes the address of an IPv6 host with brackets', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path, { HOST: '::1' });
    expect(server.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it.each<[string, { CRAWLGATE_API_KEY?: string }]>([
    ['a random secret', {}],
    ['a configured secret', { CRAWLGATE_API_KEY: SECRET }],
  ])('writes %s to no log, whatever is done with it', async (_name, environment) => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path, { LOG_LEVEL: 'trace', ...environment });
    const key = environment.CRAWLGATE_API_KEY ?? keyOf(dataDir.path);
    const api = apiOf(server.url, key);
    await api.until(await api.start({ url: site.origin }), isFinal);
    await api.fetch('/v1/crawls?limit=x');
    await api.fetch('/v1/crawls', { method: 'POST', body: '{' });
    await api.fetch(`/v1/crawls/${key}`);
    await api.fetch(`/v1/crawls?cursor=${key}`);
    await apiOf(server.url, `${key}x`).fetch('/v1/ping');
    server.kill('SIGTERM');
    await server.ended;
    expect(server.output.stderr).toContain('"requestId"');
    expect(server.output.stderr).toContain('"crawlId"');
    expect(server.output.stderr).not.toContain(key.slice(3));
    for (const line of server.output.stderr.trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });
});

describe('the stop', () => {
  it('by SIGTERM takes less than ten seconds and gives running crawls back, which a restart takes to their end', {
    timeout: 120_000,
  }, async () => {
    const site = await startRowSite(200, 40);
    using dataDir = tempDataDir();
    let id = '';
    let stopped = 0;
    {
      await using server = await startServer(dataDir.path);
      const api = apiOf(server.url, keyOf(dataDir.path));
      id = await api.start({ url: site.origin, maxUrls: 60, maxDepth: 100 });
      await api.until(id, ({ urlsCrawled }) => urlsCrawled >= 5);
      site.takes(1_000); // only a stop ends this crawl before the next look
      const since = performance.now();
      server.kill('SIGTERM');
      expect(await server.ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - since).toBeLessThan(10_000);
      expect(server.output.stderr).not.toContain('"level":"error"');
      stopped = site.seen.length;
    }
    site.takes(40);
    await using server = await startServer(dataDir.path, { READ_LIMIT_PER_MINUTE: '0' });
    const detail = await apiOf(server.url, keyOf(dataDir.path)).until(id, isFinal);
    expect(detail).toMatchObject({ state: 'done', urlsCrawled: 60 });
    expect(stopped).toBeLessThan(40);
    // What was fetched was stored before the crawl was given back: only the one request that was cut is sent again.
    expect(new Set(site.paths()).size).toBe(60);
    expect(site.paths().length).toBeLessThanOrEqual(61);
    await site.close();
  });

  it('also comes by a SIGTERM to npm, which must not leave the service behind', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path, {}, ['npm', 'start']);
    server.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(server.output.stderr).toContain('"msg":"stopped"');
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  it('is cut short by a second signal', { timeout: 120_000 }, async () => {
    const site = await startSite({ '/': () => {} });
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path);
    const api = apiOf(server.url, keyOf(dataDir.path));
    const asked = site.asked('/');
    await api.start({ url: site.origin });
    await asked;
    // A request that never ends holds the stop.
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{')) });
    const held = fetch(`${server.url}/v1/crawls`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${keyOf(dataDir.path)}`, 'Content-Type': 'application/json' },
      body,
      duplex: 'half',
    } as RequestInit).catch(() => null);
    await api.get('/v1/ping');
    const since = performance.now();
    server.kill('SIGTERM');
    const again = setInterval(() => server.kill('SIGTERM'), 600);
    await server.ended;
    clearInterval(again);
    expect(performance.now() - since).toBeLessThan(6_000); // the request would hold it for ten seconds
    await held;
    await site.close();
  });
});
