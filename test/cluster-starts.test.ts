import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LeaseToken } from '#domain/ids.ts';
import { createTenant, type Tenant } from '#store/contract/world.ts';
import { silent } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from '#store/mongo/open.ts';
import type { Store } from '#store/store.ts';
import { createClusterLog } from './fixtures/cluster-log.ts';
import { page, type Routes, startSite } from './fixtures/site.ts';
import { startByGraphql, startByRest } from './fixtures/starts.ts';
import { apiOf } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const CRAWLS = 100;
const CLAIMERS = 20;
/** As many crawls at once as there are claimers, in fewer processes: twenty of them race as well, but take 4.8 GB and half a minute to start. */
const PROCESSES = 4;
const times = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

withServer('many processes on one store', (url, admin) => {
  it('accept ten of a hundred starts of one key at once, over two gateways, REST and GraphQL', { timeout: 240_000 }, async () => {
    await using world = openSharedWorld(url, admin);
    await using cluster = await world.cluster({ workers: 0 });
    onTestFinished(cluster.kill);
    const apis = cluster.gateways.map((gateway) => apiOf(gateway.url, KEY));
    const ways = apis.flatMap((api) => [startByRest(api), startByGraphql(api)]);
    const answers = await Promise.all(times(100).map((n) => ways[n % ways.length]?.({ url: `https://example.com/${n}` })));

    const accepted = answers.flatMap((answer) => (answer?.kind === 'accepted' ? [answer.id] : []));
    const refused = answers.flatMap((answer) => (answer?.kind === 'rate_limited' ? [answer.retryAfterSeconds] : []));
    expect([accepted.length, refused.length]).toEqual([10, 90]);
    for (const seconds of refused) {
      expect(seconds).toBeGreaterThan(0);
      expect(seconds).toBeLessThanOrEqual(60);
    }
    for (const api of apis) {
      const listed = await api.list<{ id: string }>('/v1/crawls');
      expect(listed.map(({ id }) => id).sort()).toEqual(accepted.toSorted());
    }
    expect(await world.database.collection('crawls').countDocuments()).toBe(10);
  });

  describe('run each of a hundred crawls once', () => {
    /** Five organizations with twenty crawls each, of pages of their own at `origin`. */
    async function startCrawls(storeUrl: string, origin: string): Promise<string[]> {
      const store = await openMongoStore({ url: storeUrl, log: silent, settings: DEFAULT_MONGO_SETTINGS });
      const { hostname: host, host: authority } = new URL(origin);
      const tenants = await Promise.all(times(5).map(() => createTenant(store)));
      const startSome = async (tenant: Tenant, first: number): Promise<string[]> => {
        const ids: string[] = [];
        for (let n = first; n < CRAWLS; n += tenants.length) ids.push((await tenant.start({ url: `${origin}/c${n}`, host, authority })).id);
        return ids;
      };
      const ids = await Promise.all(tenants.map(startSome));
      await store.close();
      return ids.flat();
    }

    it('however twenty clients race to claim them', { timeout: 240_000 }, async () => {
      await using world = openSharedWorld(url, admin);
      const storeUrl = world.environment.STORE_URL ?? '';
      const ids = await startCrawls(storeUrl, 'https://example.com');
      const clients = await Promise.all(
        times(CLAIMERS).map(() => openMongoStore({ url: storeUrl, log: silent, settings: { ...DEFAULT_MONGO_SETTINGS, poolSize: 2 } })),
      );
      const claimBy = async (client: Store): Promise<string | null> =>
        (await client.claim(randomUUID() as string as LeaseToken, 60_000))?.snapshot.id ?? null;
      const first = await Promise.all(clients.map(claimBy));
      expect(first).not.toContain(null); // there are enough for all of them
      const rest = await Promise.all(
        clients.map(async (client) => {
          const own: string[] = [];
          for (let id = await claimBy(client); id !== null; id = await claimBy(client)) own.push(id);
          return own;
        }),
      );
      await Promise.all(clients.map((client) => client.close()));
      expect([...first, ...rest.flat()].sort()).toEqual(ids.toSorted());
    });

    it('however worker processes race to claim them', { timeout: 240_000 }, async () => {
      const routes: Routes = Object.fromEntries(
        times(CRAWLS).flatMap((n) => [
          [`/c${n}`, page(`Crawl ${n}`, [`/c${n}/a`, `/c${n}/b`])],
          [`/c${n}/a`, page(`Crawl ${n} a`, [`/c${n}`])],
          [`/c${n}/b`, page(`Crawl ${n} b`, [`/c${n}/a`])],
        ]),
      );
      const site = await startSite(routes);
      const log = createClusterLog();
      await using world = openSharedWorld(url, admin);
      const ids = await startCrawls(world.environment.STORE_URL ?? '', site.origin);
      // the lease outlasts any pause of a busy machine: here no worker is to be taken for dead
      const environment = { WORKER_CRAWLS: `${CLAIMERS / PROCESSES}` };
      await using cluster = await world.cluster({ gateways: 0, workers: PROCESSES, environment, onLine: log.onLine });
      onTestFinished(cluster.kill);
      await Promise.all(ids.map((id) => log.line(({ msg, crawlId }) => msg === 'crawl finished' && crawlId === id)));
      expect(ids.map((id) => log.claimers(id).length)).toEqual(ids.map(() => 1));
      expect(site.paths().sort()).toEqual(Object.keys(routes).sort());
      const ended = await world.database.collection('crawls').find({ state: 'done', 'counters.fetched': 3 }).toArray();
      expect(ended).toHaveLength(CRAWLS);
      await site.close();
    });
  });
});
