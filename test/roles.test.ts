import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { connected, openSocket } from '#http/graphql/fixtures/socket.ts';
import { readScraped } from '#metrics/fixtures/scraped.ts';
import { createRedisServer, withRedisServer } from '#redis/fixtures/redis-server.ts';
import { startCuttingProxy } from '#store/mongo/fixtures/cutting-proxy.ts';
import { firstHost } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { freePort } from '../scripts/cluster/free-port.ts';
import type { Member } from '../scripts/cluster/member.ts';
import { startRowSite } from './fixtures/row-site.ts';
import { type Api, apiOf, isFinal, keyOf, runCli, spawnCli, startServer, tempDataDir } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

// Up to six processes start for a test, on whatever machine.
vi.setConfig({ testTimeout: 180_000 });

const NOWHERE = 'redis://127.0.0.1:1';

const graphql = async (api: Api, query: string): Promise<unknown> =>
  (await (await api.fetch('/graphql', { method: 'POST', body: JSON.stringify({ query }) })).json()) as unknown;

/** Whether its log names `text`, as a number to sort by. */
const said = ({ output }: Pick<Member, 'output'>, text: string): number => (output.stderr.includes(text) ? 1 : 0);

/** Requests that a gateway has counted for itself, because Redis did not answer it soon enough. */
const countedAlone = async (url: string): Promise<number> =>
  readScraped(await (await apiOf(url, KEY).fetch('/metrics')).text()).value('crawlgate_request_limit_fallbacks_total') ?? 0;

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

/** A way to a server on which, once it is held, nothing gets through any more, and nothing is closed. */
async function startHoldableWay(target: { host: string; port: number }) {
  const sockets = new Set<Socket>();
  let held = false;
  const server = createServer((near) => {
    const far = connect(target);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('data', (chunk) => {
        if (!held) other.write(chunk);
      });
      one.on('error', () => {});
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      held = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Polls until the address answers so. */
async function untilStatus(url: string, status: number): Promise<void> {
  while ((await statusOf(url)) !== status) await delay(50);
}

withServer('processes on MongoDB and Redis', (url, admin) =>
  withRedisServer(() => {
    const open = () => openSharedWorld(url, admin);

    it('serve a crawl that one gateway started and a worker runs by REST, GraphQL and a subscription at the other gateway', async () => {
      await using world = open();
      await using cluster = await world.cluster({ workers: 1 });
      const site = await startRowSite(12, 100);
      const [a, b] = cluster.gateways.map((member) => apiOf(member.url, KEY));
      const socket = await connected(Number(new URL(cluster.gateways[1]?.url ?? '').port), KEY);
      const watched = socket.subscribe('subscription { crawlUpdated { state urlsCrawled } }');
      const id = (await a?.start({ url: site.origin, maxDepth: 20 })) ?? '';
      const final = await a?.until(id, isFinal);
      expect(final).toMatchObject({ state: 'done', urlsCrawled: 12 });
      expect(await b?.detail(id)).toEqual(final);
      const told = await socket.message(({ payload }) => JSON.stringify(payload ?? '').includes('"DONE"'));
      const states = socket.of(watched).map(({ payload }) => payload.data.crawlUpdated);
      expect(states.length).toBeGreaterThan(2);
      expect(states.at(-1)).toMatchObject({ state: 'DONE', urlsCrawled: 12 });
      expect(told.id).toBe(watched);
      if (b === undefined) throw new Error('no second gateway');
      expect(await graphql(b, '{ crawls(first: 5) { edges { node { state urlsCrawled } } } }')).toEqual({
        data: { crawls: { edges: [{ node: { state: 'DONE', urlsCrawled: 12 } }] } },
      });
      socket.close();
      await site.close();
    });

    it('hand a crawl of a worker that is asked to stop to the other one within ten seconds, and no page is fetched for nothing', async () => {
      await using world = open();
      // the lease lasts longer than the test: only what was given back goes on
      await using cluster = await world.cluster({ environment: { LEASE_SECONDS: '3600' } });
      const site = await startRowSite(60, 50);
      const api = apiOf(cluster.gateways[0]?.url ?? '', KEY);
      const id = await api.start({ url: site.origin, maxDepth: 100 });
      await api.until(id, ({ urlsCrawled }) => urlsCrawled >= 5);
      while (cluster.workers.every((worker) => said(worker, id) === 0)) await delay(10); // its log is read here a moment later
      const [first, second] = cluster.workers.toSorted((one, other) => said(other, id) - said(one, id));
      site.takes(1_000); // nobody has crawled it before the next look
      const since = performance.now();
      expect(await first?.end('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(performance.now() - since).toBeLessThan(10_000);
      expect(first?.output.stderr).not.toContain('"level":"error"');
      expect((await api.detail(id)).state).toBe('running');
      site.takes(50);
      expect(await api.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 60 });
      expect(second?.output.stderr).toContain(id);
      expect(new Set(site.paths()).size).toBe(60);
      expect(site.paths().length).toBeLessThanOrEqual(61);
      expect(await api.settled()).toMatchObject({ used: 60 });
      await site.close();
    });

    it('stop within ten seconds although neither MongoDB nor Redis answers any more', async () => {
      await using world = open();
      const way = await startHoldableWay(firstHost(url));
      const redis = await createRedisServer();
      await redis.start();
      const environment = { STORE_URL: world.storeUrlAt(`127.0.0.1:${way.port}`), BUS_URL: redis.url };
      await using cluster = await world.cluster({ environment, gateways: 1, workers: 1 });
      const members = [...cluster.gateways, ...cluster.workers];
      const site = await startRowSite(60, 50);
      const api = apiOf(cluster.gateways[0]?.url ?? '', KEY);
      const id = await api.start({ url: site.origin, maxDepth: 100 });
      await api.until(id, ({ urlsCrawled }) => urlsCrawled >= 5);
      way.hold();
      redis.hold();
      const since = performance.now();
      const unanswered = api.fetch('/v1/crawls').catch(() => null);
      await statusOf(`${cluster.gateways[0]?.url}/healthz`);
      const ends = await Promise.all(members.map((member) => member.end('SIGTERM').then(() => performance.now() - since)));
      // the steps of the stop may take nearly all of ten seconds; the processes' own ends come on top
      expect(Math.max(...ends)).toBeLessThan(15_000);
      await unanswered;
      redis.go();
      await redis.kill();
      await way.close();
      await site.close();
    });

    it('count the requests of a key together, and each for itself while Redis is away', async () => {
      await using world = open();
      await using cluster = await world.cluster({ workers: 0, environment: { READ_LIMIT_PER_MINUTE: '6' } });
      const [a, b] = cluster.gateways.map((member) => apiOf(member.url, KEY));
      const ping = async (api: Api | undefined): Promise<number> => (await api?.fetch('/v1/ping'))?.status ?? 0;
      const other = await runCli(['keys', 'create', '--json'], world.environment);
      const { secret } = JSON.parse(other.stdout) as { secret: string };
      // a gateway that Redis does not answer soon enough counts that request for itself: one more may be admitted then
      const admitted: number[] = [];
      for (let n = 0; n < 12; n++) admitted.push(await ping(n % 2 === 0 ? a : b));
      const fallbacks = await Promise.all(cluster.gateways.map((member) => countedAlone(member.url)));
      const accepted = admitted.filter((status) => status === 200).length;
      expect(accepted).toBeGreaterThanOrEqual(6);
      expect(accepted).toBeLessThanOrEqual(6 + fallbacks.reduce((sum, count) => sum + count, 0));
      expect(admitted.filter((status) => status !== 200 && status !== 429)).toEqual([]);
      await cluster.redis?.end('SIGKILL');
      const alone = cluster.gateways.map((member) => apiOf(member.url, secret));
      for (const api of alone) for (let n = 0; n < 6; n++) expect(await ping(api)).toBe(200);
      expect(await Promise.all(alone.map(ping))).toEqual([429, 429]);
      await cluster.redis?.start();
      expect((await Promise.all(cluster.gateways.map(({ url }) => statusOf(`${url}/readyz`)))).every((status) => status === 200)).toBe(
        true,
      );
    });

    describe('a worker', () => {
      it('tells how it is, and has nothing else to say', async () => {
        await using world = open();
        await using cluster = await world.cluster({ gateways: 0, workers: 1 });
        const at = cluster.workers[0]?.url ?? '';
        expect([await statusOf(`${at}/healthz`), await statusOf(`${at}/readyz`)]).toEqual([200, 200]);
        for (const path of ['/', '/v1/ping', '/v1/crawls', '/graphql', '/docs', '/openapi.json', '/problems/not_found']) {
          const response = await fetch(at + path, { headers: { Authorization: `Bearer ${KEY}` } });
          expect([path, response.status, response.headers.get('content-type')]).toEqual([path, 404, 'application/problem+json']);
          expect(await response.json()).toMatchObject({ code: 'not_found', detail: expect.stringContaining('/readyz') });
        }
        expect((await fetch(`${at}/graphql`, { method: 'POST', body: '{}' })).status).toBe(404);
        await expect(openSocket(Number(new URL(at).port))).rejects.toThrow('404');
      });

      it('is ready without Redis, and not without its store', async () => {
        await using world = open();
        const proxy = await startCuttingProxy(firstHost(url));
        await using cluster = await world.cluster({
          gateways: 1,
          workers: 1,
          environment: { STORE_URL: world.storeUrlAt(`127.0.0.1:${proxy.port}`), MONGODB_SELECTION_TIMEOUT_MS: '200' },
        });
        const members = [...cluster.gateways, ...cluster.workers];
        await cluster.redis?.end('SIGKILL');
        for (const member of members) expect(await statusOf(`${member.url}/readyz`)).toBe(200);
        await proxy.close();
        for (const member of members) await untilStatus(`${member.url}/readyz`, 503);
        for (const member of members) expect(await statusOf(`${member.url}/healthz`)).toBe(200);
        const refused = await apiOf(members[0]?.url ?? '', KEY).fetch('/v1/crawls');
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
      });
    });

    describe('the start', () => {
      it('comes about without Redis, and crawls run', async () => {
        await using world = open();
        await using cluster = await world.cluster({ environment: { BUS_URL: NOWHERE } });
        const site = await startRowSite(5, 0);
        const [a, b] = cluster.gateways.map((member) => apiOf(member.url, KEY));
        const id = (await a?.start({ url: site.origin, maxDepth: 20 })) ?? '';
        expect(await b?.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 5 });
        expect(cluster.gateways[0]?.output.stderr).toContain('Redis is away');
        await site.close();
      });

      it.each(['gateway', 'worker'])(
        'of a %s on an empty store is refused without CRAWLGATE_API_KEY, in one line, with exit code 2',
        async (role) => {
          await using world = open();
          const environment = { ...world.environment, CRAWLGATE_API_KEY: '', BUS_URL: NOWHERE, LOG_LEVEL: 'error' };
          const ended = await runCli(['serve', '--role', role], environment);
          expect(ended).toMatchObject({
            code: 2,
            stdout: '',
            stderr: expect.stringMatching(/^crawlgate: .* set CRAWLGATE_API_KEY [^\n]*\n$/),
          });
          expect(await world.database.collection('organizations').countDocuments()).toBe(0);
        },
      );

      it('of two processes of role all on an empty store at once makes one key, of which only one of them has news', async () => {
        await using world = open();
        using dataDir = tempDataDir();
        const environment = { ...world.environment, CRAWLGATE_API_KEY: '', BUS_URL: NOWHERE };
        mkdirSync(dataDir.path);
        const dirs = ['one', 'two'].map((name) => `${dataDir.path}/${name}`);
        const servers = await Promise.all(dirs.map((dir) => startServer(dir, environment)));
        const told = dirs.filter((_, index) => servers[index]?.output.stdout.includes('api-key'));
        expect(told).toHaveLength(1);
        const secret = keyOf(told[0] ?? '');
        expect(() => keyOf(dirs.find((dir) => dir !== told[0]) ?? '')).toThrow('ENOENT');
        for (const server of servers) expect((await apiOf(server.url, secret).fetch('/v1/ping')).status).toBe(200);
        const site = await startRowSite(3, 0);
        const [one, other] = servers.map((server) => apiOf(server.url, secret));
        const id = (await one?.start({ url: site.origin })) ?? '';
        expect(await other?.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 3 });
        await site.close();
        for (const server of servers) {
          server.kill('SIGTERM');
          expect(await server.ended).toEqual({ code: 0, signal: null });
        }
      });

      it('waits for a MongoDB that comes later', async () => {
        await using world = open();
        const { host, port } = firstHost(url);
        const later = await freePort();
        const environment = { ...world.environment, STORE_URL: world.storeUrlAt(`127.0.0.1:${later}`), BUS_URL: NOWHERE };
        const starting = spawnCli(['serve', '--role', 'gateway'], { ...environment, MONGODB_SELECTION_TIMEOUT_MS: '200' });
        await starting.says(/is waited for/);
        const proxy = await startCuttingProxy({ host, port }, later);
        await starting.says(/is ready: /);
        starting.kill('SIGTERM');
        expect(await starting.ended).toEqual({ code: 0, signal: null });
        await proxy.close();
      });
    });

    it('show no password of their URLs, whatever happens', async () => {
      await using world = open();
      const secret = 'hunter2-0123456789';
      const redis = await createRedisServer(['--requirepass', secret]);
      await redis.start();
      const outputs: string[] = [];
      for (const password of [secret, `${secret}-wrong`]) {
        const BUS_URL = `redis://:${password}@127.0.0.1:${redis.port}`;
        await using cluster = await world.cluster({ gateways: 1, workers: 1, environment: { BUS_URL, LOG_LEVEL: 'trace' } });
        const [gateway] = cluster.gateways;
        await apiOf(gateway?.url ?? '', KEY).fetch('/v1/crawls?limit=x');
        await cluster.stop();
        expect(gateway?.output.stderr.includes('Redis is away')).toBe(password !== secret);
        outputs.push(...cluster.members.map(({ output }) => output.stdout + output.stderr));
      }
      await redis.kill();
      const STORE_URL = world.environment.STORE_URL?.replace('://', `://me:${secret}@`) ?? '';
      const refused = await runCli(['serve', '--role', 'gateway'], {
        ...world.environment,
        STORE_URL,
        BUS_URL: NOWHERE,
        LOG_LEVEL: 'trace',
      });
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr.trim().split('\n').at(-1)).toMatch(/^crawlgate: the MongoDB of STORE_URL refuses: /);
      outputs.push(refused.stderr);
      for (const output of outputs) expect(output).not.toContain('hunter2');
    });

    it('obey the operator, whose commands work on the same database', async () => {
      await using world = open();
      const run = async <Answer>(...words: string[]): Promise<Answer> => {
        const { stdout, stderr, code } = await runCli([...words, '--json'], world.environment);
        expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
        return JSON.parse(stdout) as Answer;
      };
      await run('orgs', 'create', 'acme', '--quota', '7');
      const key = await run<{ id: string; secret: string; organizationId: string }>('keys', 'create', '-o', 'acme');
      await using cluster = await world.cluster({ workers: 0 });
      const [a, b] = cluster.gateways.map((member) => apiOf(member.url, key.secret));
      expect(await a?.get('/v1/ping')).toMatchObject({ organizationId: key.organizationId });
      expect(await b?.usage()).toMatchObject({ limit: 7 });
      expect(await run('orgs', 'list')).toMatchObject([{ name: 'acme' }, { name: 'default' }]);
      await run('orgs', 'set-quota', 'acme', '9');
      expect(await b?.usage()).toMatchObject({ limit: 9 });
      const { secret } = await run<{ secret: string }>('keys', 'rotate', key.id);
      expect((await apiOf(cluster.gateways[0]?.url ?? '', secret).fetch('/v1/ping')).status).toBe(200);
      await run('keys', 'revoke', key.id);
      await Promise.all([a, b].map((api) => api?.refusedWithin(2_000)));
    });
  }),
);
