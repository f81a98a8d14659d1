import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { expect, it, onTestFinished } from 'vitest';
import type { CrawlDocument } from '#store/mongo/documents.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { createClusterLog } from './fixtures/cluster-log.ts';
import { seeded } from './fixtures/seeded.ts';
import { startTreeSite } from './fixtures/tree-site.ts';
import { apiOf, runCli } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const KILLS = 50;
const CRAWLS = 4;
const KEYS = 5;
const PAGES = 400;
const ANSWER_MS = 150;
const LEASE_MS = 2_000;
const RESUMED_MS = LEASE_MS + 3_000;
const POLL_MS = 50;
/** Of a resumption, one after the other: the lease is found to have ended, taken away, and claimed, and this test notices it. */
const STEPS = 4;
/** The fifth loss in a row with no page stored between ends a crawl, as designed: one with this many is let store a page first. */
const LOSSES_SPARED = 3;
const SEED = Number(process.env.FAULTS_SEED ?? 20_261_121);

type Running = Pick<CrawlDocument, '_id' | 'lease' | 'losses' | 'counters' | 'charged'>;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** The running crawls, and the server's time. */
async function look(db: Db): Promise<{ running: Running[]; now: number }> {
  const fields = { lease: 1, losses: 1, counters: 1, charged: 1, now: '$$NOW' };
  const running = await db
    .collection<CrawlDocument>('crawls')
    .aggregate<Running & { now: Date }>([{ $match: { state: 'running' } }, { $project: fields }])
    .toArray();
  return { running, now: running[0]?.now.getTime() ?? 0 };
}

/**
 * Measures how long after a kill each crawl of the killed worker is in the hands of a living one. A crawl was the killed one's if its
 * lease, seen after the kill, is not renewed any more; it is resumed when the store shows that another run has a lease on it, or
 * that it has ended.
 */
function createResumptions() {
  type Interruption = { token: string; killedAt: number; storeTime: number };
  const open = new Map<string, Interruption>();
  const times: number[] = [];
  return {
    times,
    killed(killedAt: number, { running, now }: Awaited<ReturnType<typeof look>>): void {
      for (const { _id, lease } of running)
        if (lease.token !== null && !open.has(_id)) open.set(_id, { token: lease.token, killedAt, storeTime: now });
    },
    seen({ running }: Awaited<ReturnType<typeof look>>): void {
      for (const [id, { token, killedAt, storeTime }] of open) {
        const lease = running.find(({ _id }) => _id === id)?.lease;
        if (lease?.token === token && (lease.beatAt?.getTime() ?? 0) <= storeTime) continue;
        if (lease?.token === null) continue;
        open.delete(id);
        if (lease?.token !== token) times.push(performance.now() - killedAt);
      }
    },
    areOpen: () => open.size > 0,
  };
}

withServer('kill -9 of a worker', (url, admin) => {
  it(`fifty times over loses no crawl and no page, and stores and charges none twice (FAULTS_SEED=${SEED})`, {
    timeout: 900_000,
  }, async () => {
    const random = seeded(SEED);
    const log = createClusterLog();
    const sites = await Promise.all(Array.from({ length: CRAWLS }, () => startTreeSite(PAGES, ANSWER_MS)));
    await using world = openSharedWorld(url, admin);
    // each worker has room for all of them, so that none has to wait for the killed one to be back
    await using cluster = await world.cluster({
      gateways: 1,
      environment: { LEASE_SECONDS: `${LEASE_MS / 1_000}`, WORKER_CRAWLS: `${CRAWLS}`, CRAWL_CONCURRENCY: '3' },
      onLine: log.onLine,
    });
    onTestFinished(cluster.kill);
    const db = world.database;
    const api = apiOf(cluster.gateways[0]?.url ?? '', KEY);

    // a key may start ten crawls a minute, and a fast machine ends more
    const keys = await Promise.all(Array.from({ length: KEYS }, () => runCli(['keys', 'create', '--json'], world.environment)));
    const starters = keys.map(({ stdout }) => apiOf(cluster.gateways[0]?.url ?? '', (JSON.parse(stdout) as { secret: string }).secret));

    const expected = new Map<string, number>();
    async function start(count: number): Promise<void> {
      for (const site of sites.slice(0, count)) {
        const maxUrls = 200 + Math.floor(random() * PAGES);
        const starter = starters[expected.size % KEYS] ?? api;
        expected.set(await starter.start({ url: site.origin, maxUrls, maxDepth: 50 }), Math.min(maxUrls, PAGES));
      }
      sites.push(...sites.splice(0, count));
    }
    await start(CRAWLS);

    const resumptions = createResumptions();
    const workerOf = (id: string): string | undefined => log.claimers(id).at(-1);
    /** How late the test itself notices something, in milliseconds. It is on the same busy machine, on which each step may be as late. */
    let latest = 0;
    async function poll(): Promise<Running[]> {
      const since = performance.now();
      await delay(POLL_MS);
      const seen = await look(db);
      latest = Math.max(latest, performance.now() - since);
      resumptions.seen(seen);
      return seen.running;
    }

    for (let kill = 0; kill < KILLS; kill++) {
      const before = await poll();
      await start(CRAWLS - before.length);
      const busy = new Set(before.filter(({ lease }) => lease.token !== null).map(({ _id }) => workerOf(_id)));
      const victims = cluster.workers.filter(({ name }) => busy.has(name));
      const victim = victims[Math.floor(random() * victims.length)] ?? cluster.workers[kill % 2];
      if (victim === undefined) throw new Error('no worker');
      const fetched = new Map(before.map(({ _id, counters }) => [_id, counters.fetched]));
      const hasMoved = ({ _id, counters }: Running): boolean => workerOf(_id) === victim.name && counters.fetched > (fetched.get(_id) ?? 0);
      for (let now = before; !now.some(hasMoved) || now.some(({ losses }) => losses >= LOSSES_SPARED); ) {
        if (victims.length === 0 || !now.some(({ _id }) => workerOf(_id) === victim.name)) break;
        now = await poll();
      }
      await delay(random() * 300);

      const killedAt = performance.now();
      await victim.end('SIGKILL');
      const left = await look(db);
      resumptions.seen(left);
      resumptions.killed(killedAt, left);
      expect(left.running.length).toBeGreaterThan(0);
      for (const { counters, charged } of left.running) expect(sum(Object.values(charged))).toBe(counters.fetched);
      let isBack = false;
      const back = victim.start().then(() => {
        isBack = true;
      });
      while (!isBack) await poll();
      await back;
    }

    for (const site of sites) site.takes(20);
    while ((await poll()).length > 0);
    const ids = [...expected.keys()];
    const details = await Promise.all(ids.map((id) => api.detail(id)));
    const ending = ({ state, urlsCrawled, error }: (typeof details)[number]) => ({ state, urlsCrawled, error });
    expect(details.map(ending)).toEqual([...expected.values()].map((urlsCrawled) => ({ state: 'done', urlsCrawled, error: null })));
    for (const { id, urlsCrawled, findingsCount } of details) {
      const pages = await api.pages(id);
      expect(pages.filter(({ status }) => status === 'fetched')).toHaveLength(urlsCrawled);
      expect(new Set(pages.map(({ url: address }) => address)).size).toBe(pages.length);
      expect(await db.collection('pages').countDocuments({ crawl: id })).toBe(pages.length);
      expect(await api.list(`/v1/crawls/${id}/findings`)).toHaveLength(findingsCount ?? -1);
    }
    const charged = await db.collection<CrawlDocument>('crawls').find().toArray();
    expect(new Map(charged.map((crawl) => [crawl._id as string, sum(Object.values(crawl.charged))]))).toEqual(expected);
    expect(await api.settled()).toMatchObject({ used: sum([...expected.values()]) });

    const { times } = resumptions;
    expect(resumptions.areOpen()).toBe(false);
    expect(times.length).toBeGreaterThan(KILLS / 2);
    expect(Math.max(...times), `resumed after (ms): ${times.map(Math.round)}`).toBeLessThan(RESUMED_MS + STEPS * latest);
    await Promise.all(sites.map((site) => site.close()));
  });
});
