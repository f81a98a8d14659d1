import type { Db } from 'mongodb';
import { expect, it, onTestFinished } from 'vitest';
import { openEventStream } from '#http/fixtures/event-stream.ts';
import type { CrawlDocument, RingDocument } from '#store/mongo/documents.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { createClusterLog, memberOf } from './fixtures/cluster-log.ts';
import { shiftedClock, withFaketime } from './fixtures/shifted-clock.ts';
import { startByGraphql, startByRest } from './fixtures/starts.ts';
import { startTreeSite } from './fixtures/tree-site.ts';
import { apiOf, isFinal } from './server-process.ts';
import { KEY, openSharedWorld } from './shared-world.ts';

const START_URL = 'https://example.com/';
const SHIFT_MS = 40_000;
/** Far below the difference of the clocks: a worker that went by its own would take every lease of the other one at once. */
const LEASE_MS = 10_000;
const SHORT_LEASE_MS = 2_000;
const WINDOW_MS = 60_000;
const OFFSETS: Readonly<Record<string, string>> = { 'gateway-1': '+40s', 'gateway-2': '-40s', 'worker-1': '-40s', 'worker-2': '+40s' };
/** What two calls and the rounding to seconds may take. */
const SLACK_MS = 5_000;

type Listed = { readonly id: string; readonly startedAt: string; readonly finishedAt: string | null };

/** As if the starts of all keys had been `ms` earlier. */
async function ageStarts(db: Db, ms: number): Promise<void> {
  const rings = db.collection<RingDocument>('start_rings');
  for (const { _id, slots } of await rings.find().toArray()) {
    const aged = slots.map(({ at, crawl }) => ({ at: new Date(at.getTime() - ms), crawl }));
    await rings.updateOne({ _id }, { $set: { slots: aged } });
  }
}

const startTimes = async (db: Db): Promise<number[]> =>
  (await db.collection<RingDocument>('start_rings').find().toArray()).flatMap(({ slots }) => slots.map(({ at }) => at.getTime()));

withServer('processes whose clocks differ from each other by 80 seconds', (url, admin) =>
  withFaketime(() => {
    async function open({ workers = 2, leaseMs = LEASE_MS } = {}) {
      const log = createClusterLog();
      const world = openSharedWorld(url, admin);
      const cluster = await world.cluster({
        workers,
        environment: { LEASE_SECONDS: `${leaseMs / 1_000}`, CRAWL_CONCURRENCY: '2' },
        environmentOf: (name) => shiftedClock(OFFSETS[name] ?? '+0s'),
        onLine: log.onLine,
      });
      onTestFinished(cluster.kill);
      for (const { name } of [...cluster.gateways, ...cluster.workers]) {
        const { time, readAt } = await log.line(({ member, msg }) => member === name && msg === 'ready');
        // the clocks of these processes do differ
        const shift = Number.parseInt(OFFSETS[name] ?? '', 10) * 1_000;
        expect(Math.abs(Date.parse(time) - readAt - shift)).toBeLessThan(SHIFT_MS / 2);
      }
      const [fast, slow] = cluster.gateways.map((gateway) => apiOf(gateway.url, KEY));
      if (fast === undefined || slow === undefined) throw new Error('no gateways');
      return {
        ...{ log, world, cluster, fast, slow },
        async [Symbol.asyncDispose]() {
          await cluster.stop();
          await world[Symbol.asyncDispose]();
        },
      };
    }

    it('allow ten starts in 60 seconds over both gateways, and say alike when the next one is allowed', { timeout: 180_000 }, async () => {
      await using opened = await open({ workers: 0 });
      const { fast, slow, world } = opened;
      const since = Date.now();
      const ways = [startByRest(fast), startByRest(slow), startByGraphql(fast), startByGraphql(slow)];
      const answers = [];
      for (let n = 0; n < 14; n++) answers.push(await ways[n % ways.length]?.({ url: START_URL }));
      const until = Date.now();
      expect(answers.map((answer) => answer?.kind)).toEqual([...Array(10).fill('accepted'), ...Array(4).fill('rate_limited')]);
      for (const answer of answers.slice(10)) {
        const { retryAfterSeconds } = answer?.kind === 'rate_limited' ? answer : { retryAfterSeconds: 0 };
        expect(retryAfterSeconds * 1_000).toBeGreaterThan(WINDOW_MS - (until - since) - 1_000);
        expect(retryAfterSeconds * 1_000).toBeLessThanOrEqual(WINDOW_MS);
      }

      // the list of either is in the order of the starts, by the times of the store
      const ids = answers.flatMap((answer) => (answer?.kind === 'accepted' ? [answer.id] : []));
      for (const api of [fast, slow]) {
        const listed = await api.list<Listed>('/v1/crawls');
        expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
        for (const { startedAt } of listed) {
          expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(since);
          expect(Date.parse(startedAt)).toBeLessThanOrEqual(until);
        }
      }

      // the next one is accepted at any gateway when both have said so, by the clock of the store
      await ageStarts(world.database, WINDOW_MS - SLACK_MS - (Date.now() - since));
      const oldest = Math.min(...(await startTimes(world.database)));
      const refused = await Promise.all(ways.map((start) => start({ url: START_URL })));
      const waits = refused.map((answer) => (answer.kind === 'rate_limited' ? answer.retryAfterSeconds : 0));
      expect(Math.min(...waits)).toBeGreaterThan(0);
      expect(Math.max(...waits) * 1_000).toBeLessThanOrEqual(2 * SLACK_MS);
      for (let n = 0; (await ways[n % ways.length]?.({ url: START_URL }))?.kind !== 'accepted'; n++);
      const waited = Math.max(...(await startTimes(world.database))) - oldest;
      expect(waited).toBeGreaterThanOrEqual(WINDOW_MS);
      expect(waited).toBeLessThan(WINDOW_MS + SLACK_MS);
    });

    it('run crawls whose leases stand while their workers live, and whose times are those of the store', { timeout: 180_000 }, async () => {
      await using opened = await open();
      const { fast, slow, log, cluster } = opened;
      const site = await startTreeSite(150, 150);
      const since = Date.now();
      const ids = await Promise.all([fast, slow, fast, slow].map((api) => api.start({ url: site.origin, maxDepth: 50 })));
      const streams = await Promise.all(
        cluster.gateways.flatMap(({ url: at }) =>
          ids.map((id) => openEventStream(Number(new URL(at).port), `/v1/crawls/${id}/updates`, { Authorization: `Bearer ${KEY}` })),
        ),
      );
      const told = await Promise.all(streams.map((stream) => stream.rest()));
      const until = Date.now();
      for (const events of told) {
        const versions = events.map(({ id }) => Number(id));
        expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
        expect(events.length).toBeGreaterThan(5);
        expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({ state: 'done', phase: 'finished', urlsCrawled: 150 });
      }
      // for several rounds of the reapers
      expect(until - since).toBeGreaterThan(5_000);
      expect(ids.map((id) => log.claimers(id).length)).toEqual(ids.map(() => 1));
      expect(log.lines.filter(({ msg }) => /ended before|lost/.test(msg))).toEqual([]);
      for (const api of [fast, slow]) {
        for (const { startedAt, finishedAt } of await api.list<Listed>('/v1/crawls')) {
          const [started, finished] = [Date.parse(startedAt), Date.parse(finishedAt ?? '')];
          expect(since <= started && started < finished && finished <= until).toBe(true);
        }
        expect(await api.settled()).toMatchObject({ used: 600 });
      }
      await site.close();
    });

    it('take over the crawl of a killed worker when its lease has ended, in either direction', { timeout: 240_000 }, async () => {
      await using opened = await open({ leaseMs: SHORT_LEASE_MS });
      const { fast, slow, world, log, cluster } = opened;
      const leaseOf = async (id: string): Promise<number> => {
        const crawl = await world.database.collection<CrawlDocument>('crawls').findOne({ _id: id as CrawlDocument['_id'] });
        return crawl?.lease.beatAt?.getTime() ?? 0;
      };
      const site = await startTreeSite(150, 100);
      for (const [dead, survivor] of [
        ['worker-1', 'worker-2'],
        ['worker-2', 'worker-1'],
      ] as const) {
        // only the one that is to die is there to claim it
        memberOf(cluster, survivor).signal('SIGSTOP');
        const id = await slow.start({ url: site.origin, maxDepth: 50 });
        await slow.until(id, ({ urlsCrawled }) => urlsCrawled > 5);
        await memberOf(cluster, dead).end('SIGKILL');
        const lastBeat = await leaseOf(id);
        memberOf(cluster, survivor).signal('SIGCONT');
        await log.line(({ msg, crawlId, member }) => msg === 'crawl claimed' && crawlId === id && member === survivor);
        expect((await leaseOf(id)) - lastBeat).toBeGreaterThanOrEqual(SHORT_LEASE_MS);
        expect(await fast.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 150 });
        await memberOf(cluster, dead).start();
      }
      await site.close();
    });

    it('repeat a start by its Idempotency-Key at the other gateway', { timeout: 240_000 }, async () => {
      await using opened = await open({ workers: 0 });
      const { fast, slow } = opened;
      const start = (api: typeof fast, maxUrls: number): Promise<Response> =>
        api.fetch('/v1/crawls', {
          method: 'POST',
          headers: { 'Idempotency-Key': 'the-same' },
          body: JSON.stringify({ url: START_URL, maxUrls }),
        });
      const first = await start(slow, 1);
      expect(first.status).toBe(202);
      const body = await first.json();
      for (const api of [fast, slow]) {
        const repeated = await start(api, 1);
        expect([repeated.status, await repeated.json()]).toEqual([202, body]);
        expect((await start(api, 2)).status).toBe(422);
      }
      expect(await fast.list('/v1/crawls')).toHaveLength(1);
    });
  }),
);
