import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { expect, it } from 'vitest';
import type { CrawlDocument } from '#store/mongo/documents.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { createClusterLog } from './fixtures/cluster-log.ts';
import { seeded } from './fixtures/seeded.ts';
import { startTreeSite } from './fixtures/tree-site.ts';
import { apiOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const KILLS = 50;
const CRAWLS = 4;
const PAGES = 900;
const ANSWER_MS = 60;
const LEASE_SECONDS = 2;
const RESUMED_MS = LEASE_SECONDS * 1_000 + 3_000;
/** The fifth loss in a row with no page stored between ends a crawl, as designed: one with this many is let store a page first. */
const LOSSES_SPARED = 3;
const SEED = Number(process.env.FAULTS_SEED ?? 20_261_121);

const crawlsOf = (db: Db) => db.collection<CrawlDocument>('crawls');
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** The server's clock. */
async function timeOf(db: Db): Promise<number> {
  const [found] = await db.collection('meta').aggregate<{ now: Date }>([{ $project: { now: '$$NOW' } }]).toArray();
  return found?.now.getTime() ?? Number.NaN;
}

/** What the crawls hold that run at the moment. */
const leased = (db: Db) =>
  crawlsOf(db)
    .find({ state: 'running' }, { projection: { lease: 1, losses: 1, counters: 1, charged: 1 } })
    .toArray();

/**
 * How long after the kill of a worker each crawl that had a lease was in the hands of a living one, in milliseconds. A crawl was the
 * dead one's if its lease is not renewed after the kill; it is resumed when the store shows a lease of another token, which its new
 * holder has just been given, or its end.
 */
async function resumedAfter(db: Db, held: readonly Pick<CrawlDocument, '_id' | 'lease'>[], killedAt: number, storeKilledAt: number) {
  const times: number[] = [];
  const open = new Map(held.map(({ _id, lease }) => [_id, lease.token]));
  while (open.size > 0) {
    for (const now of await crawlsOf(db)
      .find({ _id: { $in: [...open.keys()] } }, { projection: { state: 1, lease: 1 } })
      .toArray()) {
      const { token, beatAt } = now.lease;
      const was = open.get(now._id);
      if (token === was && (beatAt?.getTime() ?? 0) > storeKilledAt) open.delete(now._id); // a living one's
      else if (now.state !== 'running' || (token !== null && token !== was)) {
        open.delete(now._id);
        times.push(performance.now() - killedAt);
      }
    }
    if (performance.now() - killedAt > 4 * RESUMED_MS) throw new Error(`not resumed: ${[...open.keys()]}`);
    await delay(40);
  }
  return times;
}

withServer('kill -9 of a worker', (url, admin) => {
  it(`fifty times over loses no crawl and no page, and stores and charges none twice (FAULTS_SEED=${SEED})`, {
    timeout: 400_000,
  }, async () => {
    const random = seeded(SEED);
    const log = createClusterLog();
    const sites = await Promise.all(Array.from({ length: CRAWLS }, () => startTreeSite(PAGES, ANSWER_MS)));
    await using world = openSharedWorld(url, admin);
    await using cluster = await world.cluster({
      gateways: 1,
      environment: { LEASE_SECONDS: `${LEASE_SECONDS}`, WORKER_CRAWLS: '3', CRAWL_CONCURRENCY: '3' },
      onLine: log.onLine,
    });
    const db = world.database;
    const api = apiOf(cluster.gateways[0]?.url ?? '', KEY);

    const expected = new Map<string, number>();
    async function startOn(site: (typeof sites)[number]): Promise<void> {
      const maxUrls = 400 + Math.floor(random() * PAGES);
      expected.set(await api.start({ url: site.origin, maxUrls, maxDepth: 50 }), Math.min(maxUrls, PAGES));
    }
    for (const site of sites) await startOn(site);

    const resumed: Promise<number[]>[] = [];
    const killed: string[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await leased(db);
      const busy = before.filter(({ lease }) => lease.token !== null).map(({ _id }) => log.claimers(_id).at(-1));
      const victims = cluster.workers.filter(({ name }) => busy.includes(name));
      const victim = victims[Math.floor(random() * victims.length)] ?? cluster.workers[0];
      if (victim === undefined) throw new Error('no worker');
      const fetchedBefore = new Map(before.map(({ _id, counters }) => [_id, counters.fetched]));
      for (;;) {
        const now = await leased(db);
        const mine = now.filter(({ _id }) => log.claimers(_id).at(-1) === victim.name);
        const moved = mine.some(({ _id, counters }) => counters.fetched > (fetchedBefore.get(_id) ?? 0));
        if ((moved || mine.length === 0) && now.every(({ losses }) => losses < LOSSES_SPARED)) break;
        await delay(20);
      }
      await delay(random() * 400);

      const killedAt = performance.now();
      await victim.end('SIGKILL');
      killed.push(victim.name);
      const held = await leased(db);
      expect(held.length).toBeGreaterThan(0);
      for (const { counters, charged } of held) expect(sum(Object.values(charged))).toBe(counters.fetched);
      resumed.push(
        resumedAfter(
          db,
          held.filter(({ lease }) => lease.token !== null),
          killedAt,
          await timeOf(db),
        ),
      );
      await victim.start();
      const running = new Set((await leased(db)).map(({ _id }) => _id as string));
      const idle = CRAWLS - running.size;
      for (const site of sites.slice(0, idle)) await startOn(site);
    }
    for (const site of sites) site.takes(0);

    const interrupted = (await Promise.all(resumed)).flat();
    const ids = [...expected.keys()];
    const details = await Promise.all(ids.map((id) => api.until(id, isFinal)));
    expect(details.map(({ state, urlsCrawled, error }) => ({ state, urlsCrawled, error }))).toEqual(
      [...expected.values()].map((urlsCrawled) => ({ state: 'done', urlsCrawled, error: null })),
    );
    console.log({ interrupted: interrupted.length, slowest: Math.max(...interrupted), killed: killed.join(' '), crawls: ids.length });
    expect(interrupted.length).toBeGreaterThan(KILLS / 2);
    expect(Math.max(...interrupted)).toBeLessThan(RESUMED_MS);
  });
});
