import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openEventStream, type ServerEvent } from '#http/fixtures/event-stream.ts';
import { openSocket } from '#http/graphql/fixtures/socket.ts';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { firstHost } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import type { Member } from '../scripts/cluster/member.ts';
import { startEndlessSite } from './fixtures/endless-site.ts';
import { startMongoProxy } from './fixtures/mongo-proxy.ts';
import { page, startSite } from './fixtures/site.ts';
import { expectRising, watchCrawl } from './fixtures/watchers.ts';
import { expectWhole } from './fixtures/whole.ts';
import { type Api, apiOf, isFinal, runCli } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const AWAY_MS = 10_000;
const ENDLESS = { maxUrls: 10_000, maxDepth: 100_000 };
const TIMES = { timeout: 240_000 };

const portOf = (member: Member): number => Number(new URL(member.url).port);

/** The first two of the cluster's gateways. */
function pair<Item>([one, other]: readonly Item[]): [Item, Item] {
  if (one === undefined || other === undefined) throw new Error('not two');
  return [one, other];
}

async function graphql(api: Api, query: string, variables: object = {}) {
  const answer = await api.fetch('/graphql', { method: 'POST', body: JSON.stringify({ query, variables }) });
  return (await answer.json()) as { data?: object | null; errors?: { extensions: Record<string, unknown> }[] };
}

async function untilSaid(member: Member, text: string): Promise<void> {
  while (!member.output.stderr.includes(text)) await delay(50);
}

const START = 'mutation ($input: StartCrawlInput!) { startCrawl(input: $input) { crawl { id } } }';

function expectFinalEvent(events: readonly ServerEvent[]): void {
  const versions = events.map(({ id }) => Number(id));
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
  expect(JSON.parse(events.at(-1)?.data ?? '{}')).toMatchObject({ state: 'done' });
}

withServer('a cluster', (url, admin) =>
  withRedisServer(() => {
    it('answers everything, runs crawls and tells watchers the final state while Redis is away for ten seconds', TIMES, async () => {
      await using world = openSharedWorld(url, admin);
      const environment = { LEASE_SECONDS: '2', READ_LIMIT_PER_MINUTE: '600' };
      await using cluster = await world.cluster({ environment, workers: 1 });
      const { redis } = cluster;
      if (redis === null) throw new Error('the cluster has no Redis');
      const gateways = pair(cluster.gateways);
      const [one, other] = pair(gateways.map((member) => apiOf(member.url, KEY)));
      const created = await runCli(['keys', 'create', '--json'], world.environment);
      const { secret } = JSON.parse(created.stdout) as { secret: string };
      const counted = pair(gateways.map((member) => apiOf(member.url, secret)));
      /** What the other key has left of its 600 requests at a gateway, after one more. */
      const left = async (index: 0 | 1): Promise<number> =>
        Number(/r=(\d+)/.exec((await counted[index].fetch('/v1/ping')).headers.get('RateLimit') ?? '')?.[1]);
      /** Resolves when what one gateway counts the other one knows. A gateway that Redis does not answer soon enough counts for itself. */
      const untilCountedTogether = async (): Promise<void> => {
        for (;;) {
          const [first, second, third] = [await left(0), await left(1), await left(0)];
          if (second === first - 1 && third === second - 1) return;
        }
      };
      await untilCountedTogether();

      const [longSite, shortSite] = [await startEndlessSite({ wide: 4 }), await startEndlessSite({ wide: 4 })];
      const quickSite = await startSite({ '/': page('Home', ['/a', '/b']), '/a': page('A'), '/b': page('B') });
      const long = await one.start({ url: longSite.origin, ...ENDLESS });
      const short = await other.start({ url: shortSite.origin, ...ENDLESS });
      const [longWatcher, shortWatcher] = [long, short].map((id) => watchCrawl({ id, key: KEY, urls: [gateways[1].url] })) as [
        ReturnType<typeof watchCrawl>,
        ReturnType<typeof watchCrawl>,
      ];
      const stream = await openEventStream(portOf(gateways[0]), `/v1/crawls/${short}/updates`, { authorization: `Bearer ${KEY}` });
      const streamed = stream.rest();
      await Promise.all([longWatcher, shortWatcher].map((watcher) => watcher.until(({ urlsCrawled }) => urlsCrawled > 10)));

      await redis.end('SIGKILL');
      const tenSeconds = delay(AWAY_MS);
      // each gateway counts for itself
      const [own, others] = [await left(0), await left(1)];
      for (let at = 0; at < own; at += 50)
        for (const { status } of await Promise.all(Array.from({ length: Math.min(50, own - at) }, () => counted[0].fetch('/v1/ping'))))
          expect(status).toBe(200);
      const refused = await counted[0].fetch('/v1/ping');
      expect([refused.status, Number(refused.headers.get('Retry-After')) > 0]).toEqual([429, true]);
      expect(await left(1)).toBe(others - 1);

      const before = await one.detail(long);
      const quick = await other.start({ url: quickSite.origin });
      shortSite.end();
      const ended = new Set<string>();
      while (ended.size < 2) {
        for (const id of [short, quick]) if (isFinal(await one.detail(id))) ended.add(id);
        const listed = await other.get<{ data: { id: string }[] }>('/v1/crawls');
        expect(listed.data.map(({ id }) => id).toSorted()).toEqual([long, short, quick].toSorted());
        expect(await graphql(one, `{ crawl(id: "${long}") { state } }`)).toEqual({ data: { crawl: { state: 'RUNNING' } } });
        await delay(500); // a key has 600 requests a minute
      }
      expect((await one.detail(long)).urlsCrawled).toBeGreaterThan(before.urlsCrawled);
      await Promise.all([shortWatcher.completed, streamed]); // by re-reading
      expectFinalEvent(await streamed);
      expect((await Promise.all(gateways.map((member) => fetch(`${member.url}/readyz`)))).map(({ status }) => status)).toEqual([200, 200]);
      await tenSeconds;

      await redis.start();
      await untilSaid(gateways[1], 'updates are fast again');
      const told = longWatcher.seen[0]?.length ?? 0;
      const backAt = performance.now();
      await longWatcher.until((_, { seen }) => (seen[0]?.length ?? 0) >= told + 10);
      expect(performance.now() - backAt).toBeLessThan(AWAY_MS * 3); // re-reading alone takes ten seconds for each
      await Promise.all(gateways.map((member) => untilSaid(member, 'requests are counted over all processes again')));
      await untilCountedTogether();

      longSite.end();
      await longWatcher.completed;
      for (const watcher of [longWatcher, shortWatcher]) {
        expectRising(watcher);
        expect(watcher.seen).toHaveLength(1);
        expect(watcher.last()?.state).toBe('DONE');
      }
      const crawled = await expectWhole(world.database, one, [long, short, quick]);
      expect([longSite.isWhole(crawled[0] ?? 0), shortSite.isWhole(crawled[1] ?? 0), crawled[2]]).toEqual([true, true, 3]);
      await Promise.all([longSite.close(), shortSite.close(), quickSite.close()]);
    });

    it('says unavailable and nothing wrong while MongoDB is away for ten seconds, and then goes on by itself', TIMES, async () => {
      await using world = openSharedWorld(url, admin);
      const proxy = await startMongoProxy(firstHost(url));
      const environment = { LEASE_SECONDS: '2', STORE_URL: world.storeUrlAt(proxy.hosts), MONGODB_SELECTION_TIMEOUT_MS: '1000' };
      await using cluster = await world.cluster({ environment });
      const gateways = pair(cluster.gateways);
      const apis = pair(gateways.map((member) => apiOf(member.url, KEY)));
      const sites = [await startEndlessSite({ wide: 4 }), await startEndlessSite({ wide: 4 })];
      const quickSite = await startSite({ '/': page('Home', ['/a', '/b']), '/a': page('A'), '/b': page('B') });
      const ids = [
        await apis[0].start({ url: sites[0]?.origin ?? '', ...ENDLESS }),
        await apis[1].start({ url: sites[1]?.origin ?? '', ...ENDLESS }),
      ];
      const [first = ''] = ids;
      const watchers = ids.flatMap((id) => gateways.map((member) => watchCrawl({ id, key: KEY, urls: [member.url] })));
      const stream = await openEventStream(portOf(gateways[0]), `/v1/crawls/${first}/updates`, { authorization: `Bearer ${KEY}` });
      const streamed = stream.rest();
      await Promise.all(watchers.map((watcher) => watcher.until(({ urlsCrawled }) => urlsCrawled > 10)));

      /** What the gateways have logged as their own defects, for whoever reads the failure. */
      async function defects(): Promise<string> {
        await delay(500); // it is read here a moment later
        return gateways.flatMap(({ output }) => output.stderr.split('\n').filter((line) => line.includes('"level":"error"'))).join('\n');
      }
      async function expectUnavailable(api: Api, method: string, path: string, init: RequestInit = {}): Promise<void> {
        const answer = await api.fetch(path, { method, ...init });
        const body = await answer.text();
        expect([method, path, answer.status, body], answer.status === 500 ? await defects() : '').toEqual([
          method,
          path,
          503,
          expect.stringContaining('"code":"unavailable"'),
        ]);
        expect(answer.headers.get('Content-Type')).toBe('application/problem+json');
        expect(answer.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
      }
      async function expectUnavailableByGraphql(api: Api, query: string, variables: object = {}): Promise<void> {
        const { data, errors } = await graphql(api, query, variables);
        // a field that may be null is null beside the error that says why
        expect([query, Object.values(data ?? {}).filter((value) => value !== null), errors]).toEqual([
          query,
          [],
          [expect.objectContaining({ extensions: { code: 'unavailable', retryAfterSeconds: expect.any(Number) } })],
        ]);
      }
      /** A socket is told to try again later, or its subscription is; the key may be known for a second. */
      async function expectNoSubscription(member: Member): Promise<void> {
        const socket = await openSocket(portOf(member));
        socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${KEY}` } });
        const acknowledged = await socket
          .message(({ type }) => type === 'connection_ack')
          .then(
            () => true,
            () => false,
          );
        if (!acknowledged) return expect((await socket.closed).code).toBe(1013);
        const end = await socket.ended(socket.subscribe(`subscription { crawlUpdated(id: "${first}") { version } }`));
        expect(end.payload).toEqual([expect.objectContaining({ extensions: expect.objectContaining({ code: 'unavailable' }) })]);
        socket.close();
      }
      const statusOf = async (member: Member, path: string): Promise<number> => (await fetch(`${member.url}${path}`)).status;
      const quick = JSON.stringify({ url: quickSite.origin });
      const startByRest = { body: quick, headers: { 'Idempotency-Key': 'by-rest' } };
      const startByGraphql = { input: { url: quickSite.origin, idempotencyKey: 'by-graphql' } };

      await proxy.refuse();
      const awayAt = performance.now();
      let rounds = 0;
      for (; performance.now() - awayAt < AWAY_MS; rounds++) {
        await Promise.all(
          apis.flatMap((api) => [
            ...['', '/pages', '/findings', '/updates'].map((part) => expectUnavailable(api, 'GET', `/v1/crawls/${first}${part}`)),
            ...['/v1/crawls', '/v1/sites', '/v1/usage'].map((path) => expectUnavailable(api, 'GET', path)),
            expectUnavailable(api, 'POST', '/v1/crawls', startByRest),
            expectUnavailable(api, 'POST', `/v1/crawls/${first}/cancel`),
            expectUnavailable(api, 'DELETE', `/v1/crawls/${first}`),
            expectUnavailableByGraphql(api, `{ crawl(id: "${first}") { state } }`),
            expectUnavailableByGraphql(api, '{ crawls(first: 5) { edges { node { id } } } }'),
            expectUnavailableByGraphql(api, '{ viewer { organization { quota { used } } } }'),
            expectUnavailableByGraphql(api, START, startByGraphql),
          ]),
        );
        await Promise.all(gateways.map(expectNoSubscription));
        const members = [...gateways, ...cluster.workers];
        expect(await Promise.all(members.map((member) => statusOf(member, '/readyz')))).toEqual(members.map(() => 503));
        expect(await Promise.all(members.map((member) => statusOf(member, '/healthz')))).toEqual(members.map(() => 200));
      }
      expect(rounds).toBeGreaterThan(0);
      for (const watcher of watchers) expect([watcher.closed, watcher.last()?.state]).toEqual([[], 'RUNNING']);

      await proxy.admit();
      for (const member of [...gateways, ...cluster.workers]) while ((await statusOf(member, '/readyz')) !== 200) await delay(50);
      const now = await Promise.all(ids.map((id) => apis[0].detail(id)));
      await Promise.all(now.map(({ id, urlsCrawled }) => apis[1].until(id, (detail) => detail.urlsCrawled > urlsCrawled)));
      // what was refused has not been done: the same keys start now, once
      const answer = await apis[0].fetch('/v1/crawls', { method: 'POST', ...startByRest });
      expect(answer.status).toBe(202);
      ids.push(((await answer.json()) as { id: string }).id);
      const { data } = (await graphql(apis[1], START, startByGraphql)) as { data: { startCrawl: { crawl: { id: string } } } };
      ids.push(data.startCrawl.crawl.id);
      const listed = await apis[1].get<{ data: { id: string }[] }>('/v1/crawls');
      expect(listed.data.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());

      for (const site of sites) site.end();
      await Promise.all(watchers.map(({ completed }) => completed));
      for (const watcher of watchers) {
        expectRising(watcher);
        expect(watcher.seen).toHaveLength(1); // none had to connect again
        expect(watcher.last()?.state).toBe('DONE');
      }
      expectFinalEvent(await streamed);
      await Promise.all(ids.map((id) => apis[0].until(id, isFinal)));
      const crawled = await expectWhole(world.database, apis[0], ids);
      expect(sites.map((site, index) => site.isWhole(crawled[index] ?? 0))).toEqual([true, true]);
      expect(crawled.slice(2)).toEqual([3, 3]);
      await Promise.all([...sites.map((site) => site.close()), quickSite.close()]);
      await cluster.stop();
      await proxy.close();
    });
  }),
);
