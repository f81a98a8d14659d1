import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openEventStream } from '#http/fixtures/event-stream.ts';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { startBalancer, withHaproxy } from './fixtures/balancer.ts';
import { startEndlessSite } from './fixtures/endless-site.ts';
import { expectRising, type Watcher, watchCrawl } from './fixtures/watchers.ts';
import { expectWhole } from './fixtures/whole.ts';
import { apiOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

/** So many at once, until each gateway has some. */
const WATCHERS = 40;
const CLIENTS = 8;
const GOING_AWAY = 1001;
const authorization = `Bearer ${KEY}`;

/** The status of a GET, or what went wrong. */
const statusOf = (url: string, agent: Agent | false): Promise<number | string> =>
  new Promise((resolve) => {
    const sent = request(url, { agent, headers: { authorization } }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
      response.on('error', (error) => resolve(error.message));
    });
    sent.on('error', (error) => resolve(error.message));
    sent.end();
  });

const hasWatchers = async ({ url }: { readonly url: string }): Promise<boolean> =>
  /^crawlgate_streams_open\{kind="websocket",[^}]*\} [1-9]/m.test(await (await apiOf(url, KEY).fetch('/metrics')).text());

withServer('the balancer of deploy/', (url, admin) =>
  withRedisServer(() =>
    withHaproxy(() => {
      it('serves all of it through one port, and nobody who polls sees that a gateway is stopped, or is killed', {
        timeout: 180_000,
      }, async () => {
        await using world = openSharedWorld(url, admin);
        await using cluster = await world.cluster({ environment: { LEASE_SECONDS: '2', DRAIN_SECONDS: '' }, workers: 1 });
        await using balancer = await startBalancer(cluster.gateways.map((member) => member.url));
        const [gateway, other] = cluster.gateways;
        if (gateway === undefined || other === undefined) throw new Error('not two gateways');
        const api = apiOf(balancer.url, KEY);
        const site = await startEndlessSite({ wide: 4 });

        const id = await api.start({ url: site.origin, maxUrls: 10_000, maxDepth: 100_000 });
        // the balancer leaves out a gateway that takes a second to answer, as one on a busy machine may
        const watchers: Watcher[] = [];
        while (!(await Promise.all(cluster.gateways.map(hasWatchers))).every(Boolean)) {
          const more = Array.from({ length: WATCHERS }, () => watchCrawl({ id, key: KEY, urls: [balancer.url] }));
          watchers.push(...more);
          await Promise.all(more.map((watcher) => watcher.until(({ urlsCrawled }) => urlsCrawled > 10)));
        }
        const stream = await openEventStream(balancer.port, `/v1/crawls/${id}/updates`, { authorization });
        expect(stream.headers['content-type']).toBe('text/event-stream');
        expect(JSON.parse((await stream.next())?.data ?? '{}')).toMatchObject({ state: 'running' });
        const query = JSON.stringify({ query: `{ crawl(id: "${id}") { state } }` });
        const answer = await api.fetch('/graphql', { method: 'POST', body: query });
        expect(await answer.json()).toEqual({ data: { crawl: { state: 'RUNNING' } } });

        for (const path of ['/metrics', '/%6Detrics', '/metrics?x']) {
          const metrics = await fetch(balancer.url + path, { headers: { authorization } });
          expect([path, metrics.status, metrics.headers.get('X-Request-Id')]).toEqual([path, 404, null]); // no gateway has seen it
        }

        // some clients keep their connection, some open one for each request
        const polling = new AbortController();
        const agent = new Agent({ keepAlive: true });
        const seen: (number | string)[] = [];
        const clients = Array.from({ length: CLIENTS }, async (_, index) => {
          while (!polling.signal.aborted) seen.push(await statusOf(`${balancer.url}/v1/crawls/${id}`, index % 2 === 0 && agent));
        });
        const untilPolled = async (count: number): Promise<void> => {
          for (const until = seen.length + count; seen.length < until; ) await delay(10);
        };
        await untilPolled(100);
        expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
        await untilPolled(300);
        const left = watchers.filter(({ closed }) => closed.length > 0);
        expect(left.length).toBeGreaterThan(0);
        expect(left.length).toBeLessThan(watchers.length);
        await Promise.all(left.map((watcher) => watcher.until((_, { seen: parts }) => parts.length === 2 && parts[1]?.length !== 0)));

        await gateway.start();
        await balancer.foundReady(1);
        await other.end('SIGKILL');
        await untilPolled(300);
        polling.abort();
        await Promise.all(clients);
        agent.destroy();
        expect(seen.filter((status) => status !== 200)).toEqual([]);

        site.end();
        await Promise.all(watchers.map(({ completed }) => completed));
        for (const watcher of watchers) {
          expectRising(watcher);
          expect(watcher.last()?.state).toBe('DONE');
        }
        expect(left.map(({ closed }) => closed[0])).toEqual(left.map(() => GOING_AWAY));
        const again = await openEventStream(balancer.port, `/v1/crawls/${id}/updates`, { authorization });
        expect((await again.rest()).map(({ data }) => JSON.parse(data))).toEqual([expect.objectContaining({ state: 'done' })]);
        expect(await api.until(id, isFinal)).toMatchObject({ state: 'done' });
        await expectWhole(world.database, api, [id]);
        stream.request.destroy();

        // without any gateway the balancer says what a gateway would
        await gateway.end('SIGKILL');
        await balancer.foundNone();
        const alone = await api.fetch('/v1/ping');
        expect([alone.status, alone.headers.get('Retry-After'), alone.headers.get('Content-Type')]).toEqual([
          503,
          '5',
          'application/problem+json',
        ]);
        expect(await alone.json()).toMatchObject({ status: 503, code: 'unavailable' });
        await site.close();
      });
    }),
  ),
);
