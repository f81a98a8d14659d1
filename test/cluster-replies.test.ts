import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { firstHost } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { type EndlessSite, startEndlessSite } from './fixtures/endless-site.ts';
import { startMongoProxy } from './fixtures/mongo-proxy.ts';
import { seeded } from './fixtures/seeded.ts';
import { expectWhole } from './fixtures/whole.ts';
import { type Api, apiOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

/** Each with its own crawls; ten starts a minute are a key's. */
const SEEDS = [20_261_121, 7, 1_001];
const CRAWLS = 3;
const ENDLESS = { maxUrls: 10_000, maxDepth: 100_000 };
const START = 'mutation ($input: StartCrawlInput!) { startCrawl(input: $input) { crawl { id } } }';

/** Asks again for as long as the service is unavailable. */
async function persistently<Answer>(ask: () => Promise<Answer | 'unavailable'>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== 'unavailable') return answer;
    await delay(50);
  }
}

async function startByRest(api: Api, body: object, key: string): Promise<string | 'unavailable'> {
  const answer = await api.fetch('/v1/crawls', { method: 'POST', body: JSON.stringify(body), headers: { 'Idempotency-Key': key } });
  const told = (await answer.json()) as { id: string; code?: string };
  if (answer.status === 503) return 'unavailable';
  expect([answer.status, told]).toEqual([202, { id: expect.any(String), url: `/v1/crawls/${told.id}` }]);
  return told.id;
}

async function startByGraphql(api: Api, input: object, idempotencyKey: string): Promise<string | 'unavailable'> {
  const body = JSON.stringify({ query: START, variables: { input: { ...input, idempotencyKey } } });
  const { data, errors } = (await (await api.fetch('/graphql', { method: 'POST', body })).json()) as {
    data?: { startCrawl: { crawl: { id: string } } };
    errors?: { extensions: { code: string } }[];
  };
  if (errors?.every(({ extensions }) => extensions.code === 'unavailable')) return 'unavailable';
  expect(errors).toBeUndefined();
  return data?.startCrawl.crawl.id ?? '';
}

withServer('a cluster whose writes lose their replies', (url, admin) =>
  withRedisServer(() => {
    it('does nothing twice: starts, pages, charges, findings, events', { timeout: 240_000 }, async () => {
      await using world = openSharedWorld(url, admin);
      const proxies = { gateway: await startMongoProxy(firstHost(url)), worker: await startMongoProxy(firstHost(url)) };
      await using cluster = await world.cluster({
        environment: { LEASE_SECONDS: '2' },
        environmentOf: (name) => {
          const proxy = name.startsWith('gateway') ? proxies.gateway : proxies.worker;
          return { STORE_URL: world.storeUrlAt(proxy.hosts) };
        },
      });
      const apis = cluster.gateways.map((member) => apiOf(member.url, KEY));
      const [one, other] = apis;
      if (one === undefined || other === undefined) throw new Error('not two gateways');
      const sites: EndlessSite[] = [];
      const ids: string[] = [];
      for (const seed of SEEDS) {
        const random = seeded(seed);
        proxies.gateway.loseReplies(0.25, random);
        proxies.worker.loseReplies(0.05, random);
        const fresh = await Promise.all(Array.from({ length: CRAWLS }, () => startEndlessSite({ wide: 4 })));
        const startAll = (): Promise<string[]> =>
          Promise.all(
            fresh.map(({ origin }, index) => {
              const [start, api] = [index % 2 === 0 ? startByRest : startByGraphql, index % 3 === 0 ? one : other];
              return persistently(() => start(api, { url: origin, ...ENDLESS }, `start-${seed}-${index}`));
            }),
          );
        const started = await startAll();
        for (const id of started) await one.until(id, ({ urlsCrawled }) => urlsCrawled > 40);
        expect(await startAll()).toEqual(started);
        for (const site of fresh) site.end();
        for (const id of started) expect(await other.until(id, isFinal)).toMatchObject({ state: 'done', error: null });
        sites.push(...fresh);
        ids.push(...started);
      }
      expect(new Set(ids).size).toBe(sites.length);

      // each of the ways to write was hit
      expect(Math.min(...['findandmodify', 'update'].map((command) => proxies.worker.lost.get(command) ?? 0))).toBeGreaterThan(0);
      expect(proxies.gateway.lost.size).toBeGreaterThan(0);

      const { database } = world;
      const crawls = database.collection('crawls');
      while ((await crawls.countDocuments({ 'outbox.0': { $exists: true } })) > 0) await delay(50);
      const crawled = await expectWhole(database, one, ids);
      expect(sites.map((site, index) => site.isWhole(crawled[index] ?? 0))).toEqual(sites.map(() => true));
      expect(await crawls.countDocuments()).toBe(sites.length);
      const rings = await database.collection('start_rings').find().toArray();
      const slots = rings.flatMap((ring) => (ring.slots as { crawl: string | null }[]).flatMap(({ crawl }) => crawl ?? []));
      expect(slots.toSorted()).toEqual(ids.toSorted());
      const events = await database.collection('events').find().sort({ seq: 1 }).toArray();
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      for (const id of ids)
        expect(events.filter(({ crawlId }) => crawlId === id).map(({ type }) => type)).toEqual([
          'crawl.started',
          'crawl.analyzing',
          'crawl.done',
        ]);
      expect(events).toHaveLength(3 * ids.length);
      const findings = await database.collection('findings').find().toArray();
      expect(findings.length).toBeGreaterThan(0);
      expect(new Set(findings.map(({ crawl, run, ordinal }) => `${crawl} ${run} ${ordinal}`)).size).toBe(findings.length);

      await Promise.all(sites.map((site) => site.close()));
      await cluster.stop();
      await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
    });
  }),
);
