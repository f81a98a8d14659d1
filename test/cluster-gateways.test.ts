import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withRedisServer } from '#redis/fixtures/redis-server.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import type { Cluster } from '../scripts/cluster/cluster.ts';
import type { Member } from '../scripts/cluster/member.ts';
import { type EndlessSite, startEndlessSite } from './fixtures/endless-site.ts';
import { expectRising, type Watcher, watchCrawl } from './fixtures/watchers.ts';
import { expectWhole } from './fixtures/whole.ts';
import { type Api, apiOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld, type SharedWorld } from './shared-world.ts';

const WATCHERS = 500;
const GOING_AWAY = 1001;
const ENDLESS = { maxUrls: 10_000, maxDepth: 100_000 };
const TIMES = { timeout: 180_000 };

withServer('a cluster of two gateways and two workers', (url, admin) =>
  withRedisServer(() => {
    describe('when parts of it die', () => {
      let world: SharedWorld;
      let cluster: Cluster;
      let sites: EndlessSite[] = [];
      const ids: string[] = [];
      beforeAll(async () => {
        world = openSharedWorld(url, admin);
        cluster = await world.cluster({ environment: { LEASE_SECONDS: '2' } });
      });
      afterAll(async () => {
        await Promise.all(sites.map((site) => site.close()));
        await cluster?.stop();
        await world?.[Symbol.asyncDispose]();
      });

      const gateway = (index: number): Member => {
        const member = cluster.gateways[index];
        if (member === undefined) throw new Error('no such gateway');
        return member;
      };
      const apiAt = (index: number): Api => apiOf(gateway(index).url, KEY);
      const newSite = async (): Promise<EndlessSite> => {
        const site = await startEndlessSite();
        sites = [...sites, site];
        return site;
      };
      async function start(api: Api): Promise<{ id: string; site: EndlessSite }> {
        const site = await newSite();
        const id = await api.start({ url: site.origin, ...ENDLESS });
        ids.push(id);
        return { id, site };
      }

      /** Watches at `index`; whoever has to connect again does so at the other gateway. */
      async function watchAt(index: number, id: string): Promise<Watcher[]> {
        const urls = [index, 1 - index, index].map((turn) => gateway(turn).url);
        const watchers = Array.from({ length: WATCHERS }, () => watchCrawl({ id, key: KEY, urls }));
        await Promise.all(watchers.map((watcher) => watcher.until(() => true)));
        expect(watchers.filter(({ closed }) => closed.length > 0)).toEqual([]);
        return watchers;
      }

      const reconnected = (watchers: readonly Watcher[]): Promise<unknown> =>
        Promise.all(watchers.map((watcher) => watcher.until((_, { seen }) => seen.length === 2 && seen[1]?.length !== 0)));

      async function expectFinal(watchers: readonly Watcher[], code: number): Promise<void> {
        await Promise.all(watchers.map(({ completed }) => completed));
        for (const watcher of watchers) {
          expectRising(watcher);
          expect(watcher.closed[0]).toBe(code);
          expect(watcher.seen).toHaveLength(2);
          expect(watcher.last()).toEqual(watchers[0]?.last());
          expect(watcher.last()?.state).toBe('DONE');
        }
      }

      it(
        'REST, GraphQL and subscriptions are served by both gateways, and every crawl ends whole, with a worker killed meanwhile',
        TIMES,
        async () => {
          const [one, other] = [apiAt(0), apiAt(1)];
          const started = [await start(one), await start(other), await start(one)];
          const watchers = started.map(({ id }, index) => watchCrawl({ id, key: KEY, urls: [gateway((index + 1) % 2).url] }));
          await Promise.all(started.map(({ id }) => one.until(id, ({ urlsCrawled }) => urlsCrawled > 20)));
          const log = (member: Member): string => member.output.stderr;
          const busy = cluster.workers.find((worker) => started.some(({ id }) => log(worker).includes(id)));
          if (busy === undefined) throw new Error('no worker has told of a crawl');
          const held = started.filter(({ id }) => log(busy).includes(id));
          expect((await busy.end('SIGKILL')).signal).toBe('SIGKILL');

          const killed = await Promise.all(held.map(({ id }) => one.detail(id)));
          await Promise.all(killed.map(({ id, urlsCrawled }) => other.until(id, (now) => now.urlsCrawled > urlsCrawled + 20)));
          for (const { site } of started) site.end();
          for (const [index, { id, site }] of started.entries()) {
            const detail = await other.until(id, isFinal);
            expect(detail).toMatchObject({ state: 'done', error: null });
            expect(site.isWhole(detail.urlsCrawled)).toBe(true);
            expect(await one.detail(id)).toEqual(detail);
            const query = `{ crawl(id: "${id}") { state urlsCrawled urlsDiscovered findingsCount } }`;
            for (const api of [one, other]) {
              const answer = await api.fetch('/graphql', { method: 'POST', body: JSON.stringify({ query }) });
              const { urlsCrawled, findingsCount } = detail;
              expect(await answer.json()).toEqual({
                data: { crawl: { state: 'DONE', urlsCrawled, urlsDiscovered: urlsCrawled, findingsCount } },
              });
            }
            const watcher = watchers[index];
            await watcher?.completed;
            expect(watcher?.last()).toMatchObject({ state: 'DONE', urlsCrawled: detail.urlsCrawled });
            expect(watcher?.closed.slice(0, -1)).toEqual([]);
            if (watcher !== undefined) expectRising(watcher);
          }
          await expectWhole(world.database, one, ids);
          await busy.start();
        },
      );

      it(
        '500 watchers of a gateway that is killed come to the other one and see the final state, and the workers run on',
        TIMES,
        async () => {
          const { id, site } = await start(apiAt(1));
          const pids = cluster.workers.map(({ pid }) => pid);
          const watchers = await watchAt(0, id);
          expect((await gateway(0).end('SIGKILL')).signal).toBe('SIGKILL');
          const { urlsCrawled } = await apiAt(1).detail(id);
          await reconnected(watchers);
          await apiAt(1).until(id, (now) => now.urlsCrawled > urlsCrawled);
          site.end();
          await expectFinal(watchers, 1006);
          expect(cluster.workers.map(({ pid }) => pid)).toEqual(pids);
          await expectWhole(world.database, apiAt(1), ids);
          await gateway(0).start();
        },
      );

      it('500 watchers of a gateway that is stopped are told to go, come to the other one and see the final state', TIMES, async () => {
        const { id, site } = await start(apiAt(0));
        const watchers = await watchAt(1, id);
        expect(await gateway(1).end('SIGTERM')).toEqual({ code: 0, signal: null });
        await reconnected(watchers);
        site.end();
        await expectFinal(watchers, GOING_AWAY);
        await expectWhole(world.database, apiAt(0), ids);
      });
    });
  }),
);
