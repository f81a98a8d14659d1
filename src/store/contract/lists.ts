import { describe, expect, test } from 'vitest';
import type { OrganizationId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { CrawlFilter, Store } from '#store/store.ts';
import { COMPLETED } from './analysis.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, seqs, without } from './pages.ts';
import { answered, claimNext, inWorld, newCrawlId, nextMoment, type Tenant } from './world.ts';

const newestFirst = (a: Snapshot, b: Snapshot): number => b.startedAt - a.startedAt || (a.id < b.id ? 1 : -1);
const idsOf = (list: readonly { id: string }[]): string[] => list.map((each) => each.id);

/** Starts crawls in bursts, so that some share their millisecond and some do not. */
async function startSome(tenant: Tenant, bursts = 4, size = 6): Promise<Snapshot[]> {
  const started: Snapshot[] = [];
  for (let burst = 0; burst < bursts; burst++) started.push(...(await Promise.all(Array.from({ length: size }, () => tenant.start()))));
  return started.sort(newestFirst);
}

async function pageThrough(store: Store, organizationId: OrganizationId, limit: number, filter: CrawlFilter = {}): Promise<Snapshot[]> {
  const list: Snapshot[] = [];
  for (;;) {
    const last = list.at(-1);
    const step = await store.listCrawls({ organizationId, limit, ...filter, ...(last && { after: last }) });
    expect(step.length).toBeLessThanOrEqual(limit);
    if (step.length === 0) return list;
    list.push(...step);
  }
}

export function listTests(harness: StoreHarness): void {
  describe('the list of crawls', () => {
    test(
      'is ordered by start and id, both descending, and pages through each crawl once',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const started = await startSome(someone);
        for (const limit of [1, 5, 24, 100]) {
          expect(idsOf(await pageThrough(store, someone.organizationId, limit))).toEqual(idsOf(started));
        }
      }),
    );

    test(
      'goes on after a place that was deleted, and past crawls that were started meanwhile',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const someone = await tenant();
        await startSome(someone);
        await ageRecords(1_000);
        const all = await pageThrough(store, someone.organizationId, 100);
        const place = all[9];
        if (place === undefined) throw new Error('too few crawls');
        await someone.start();
        await store.cancelCrawl(someone.organizationId, place.id);
        expect(await store.deleteCrawl(someone.organizationId, place.id)).toBe('deleted');
        const rest = await store.listCrawls({ organizationId: someone.organizationId, after: place, limit: 100 });
        expect(idsOf(rest)).toEqual(idsOf(all.slice(10)));
      }),
    );

    test(
      'before a place gives the nearest newer ones, still newest first',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const all = await startSome(someone);
        const { organizationId } = someone;
        const [after, before] = [all[3], all[10]];
        if (after === undefined || before === undefined) throw new Error('too few crawls');
        expect(idsOf(await store.listCrawls({ organizationId, before, limit: 4 }))).toEqual(idsOf(all.slice(6, 10)));
        expect(idsOf(await store.listCrawls({ organizationId, before, limit: 100 }))).toEqual(idsOf(all.slice(0, 10)));
        expect(idsOf(await store.listCrawls({ organizationId, after, before, limit: 100 }))).toEqual(idsOf(all.slice(4, 10)));
      }),
    );

    test(
      'takes a place that no crawl ever had',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const all = await startSome(someone, 1);
        const { organizationId } = someone;
        const future = { startedAt: (await store.now()) + 1_000, id: newCrawlId() };
        expect(idsOf(await store.listCrawls({ organizationId, after: future, limit: 100 }))).toEqual(idsOf(all));
        expect(await store.listCrawls({ organizationId, after: { startedAt: 0, id: newCrawlId() }, limit: 100 })).toEqual([]);
      }),
    );

    test(
      'filters by site, state and host, each alone and together, and counts the same up to a bound',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const { organizationId } = someone;
        for (let index = 0; index < 3; index++) {
          await someone.start();
          await someone.start({ authority: 'example.com:8080' });
          await someone.start({ authority: 'other.example', host: 'other.example' });
        }
        for (let index = 0; index < 5; index++) {
          const { snapshot, token } = await claimNext(store);
          const failed = { endReason: 'time_limit', error: 'Too long.' } as const;
          await store.finish(snapshot.id, token, index % 2 === 0 ? COMPLETED : failed, 0);
        }
        const all = await pageThrough(store, organizationId, 100);
        const siteId = all.find((crawl) => crawl.authority === 'example.com:8080')?.siteId;
        if (siteId === undefined) throw new Error('no such site');
        const filters: CrawlFilter[] = [
          { siteId },
          { state: 'running' },
          { state: 'done' },
          { state: 'failed' },
          { host: 'example.com' },
          { host: 'other.example', state: 'running' },
          { siteId, state: 'done' },
          { siteId, host: 'example.com', state: 'running' },
          { siteId, host: 'other.example' },
        ];
        for (const filter of filters) {
          const matching = all.filter((crawl) => Object.entries(filter).every(([field, value]) => crawl[field as 'state'] === value));
          expect(idsOf(await pageThrough(store, organizationId, 2, filter)), JSON.stringify(filter)).toEqual(idsOf(matching));
          expect(await store.countCrawls(organizationId, filter, 100), JSON.stringify(filter)).toBe(matching.length);
        }
        expect(await store.countCrawls(organizationId, {}, 9)).toBe(9);
        expect(await store.countCrawls(organizationId, {}, 4)).toBe(4);
      }),
    );
  });

  describe('the place in the queue', () => {
    test(
      "is counted from 1 among the organization's crawls that nobody runs, in the order in which they are taken",
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const someone = await tenant();
        const waiting = (await startSome(someone, 2, 3)).reverse();
        const { organizationId } = someone;
        const places = async () => {
          const positions = await store.getQueuePositions(organizationId, [newCrawlId(), ...waiting.map(({ id }) => id)]);
          return waiting.map(({ id }) => positions.get(id) ?? null);
        };
        expect(await places()).toEqual([1, 2, 3, 4, 5, 6]);
        expect([...(await store.getQueuePositions(organizationId, []))]).toEqual([]);
        expect((await store.getQueuePositions((await tenant()).organizationId, idsOf(waiting) as never)).size).toBe(0);

        await ageRecords(1_000);
        await store.cancelCrawl(organizationId, waiting[2]?.id as never);
        const claim = await claimNext(store);
        expect(claim.snapshot.id).toBe(waiting[0]?.id);
        await (await tenant()).start();
        expect(await places()).toEqual([null, 1, null, 2, 3, 4]);
        await store.release(claim.snapshot.id, claim.token);
        expect(await places()).toEqual([1, 2, null, 3, 4, 5]);
      }),
    );
  });

  describe('snapshots', () => {
    test(
      'are read by id, those that exist',
      inWorld(harness, async ({ store, tenant }) => {
        const crawls = [await (await tenant()).start(), await (await tenant()).start()];
        const read = await store.getSnapshots([newCrawlId(), ...crawls.map((crawl) => crawl.id)]);
        expect(read.sort(newestFirst)).toEqual(crawls.sort(newestFirst));
        expect(await store.getSnapshots([])).toEqual([]);
        const most = [...crawls.map((crawl) => crawl.id), ...Array.from({ length: 998 }, newCrawlId)];
        expect(await store.getSnapshots(most)).toHaveLength(2);
        expect(await store.getCrawl(crawls[0]?.organizationId as OrganizationId, newCrawlId())).toBeNull();
      }),
    );

    test(
      'that changed since a time are listed oldest change first, with the time of the read',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const [first, second, third] = [await someone.start(), await someone.start(), await someone.start()];
        await nextMoment(store);
        const before = await store.now();
        expect((await store.listChanged(someone.organizationId, before, 10)).snapshots).toEqual([]);
        const claims = [await claimNext(store), await claimNext(store)].reverse();
        for (const { snapshot, token } of claims) {
          await store.commitPages(snapshot.id, token, batchOf(1, { discovered: [discovered(0)] }));
          await nextMoment(store);
        }
        const changed = await store.listChanged(someone.organizationId, before, 10);
        expect(idsOf(changed.snapshots)).toEqual(claims.map(({ snapshot }) => snapshot.id));
        expect(changed.snapshots.every((snapshot) => snapshot.phase === 'fetching')).toBe(true);
        expect(changed.readAt).toBeGreaterThanOrEqual(before);
        expect(changed.readAt).toBeLessThanOrEqual(await store.now());
        expect((await store.listChanged(someone.organizationId, before, 1)).snapshots).toEqual(changed.snapshots.slice(0, 1));
        expect((await store.listChanged(someone.organizationId, 0, 10)).snapshots.map((each) => each.id).sort()).toEqual(
          [first.id, second.id, third.id].sort(),
        );
      }),
    );
  });

  describe('versions', () => {
    test(
      'are those of the snapshots, of what exists and is the named organization’s',
      inWorld(harness, async ({ store, tenant, running }) => {
        const run = await running();
        const { version } = answered(await store.commitPages(run.id, run.token, batchOf(1, { discovered: [discovered(0)] })));
        const [someone, other] = [await tenant(), await tenant()];
        const [own, foreign, gone] = [await someone.start(), await other.start(), await someone.start()];
        await store.cancelCrawl(someone.organizationId, gone.id);
        expect(await store.deleteCrawl(someone.organizationId, gone.id)).toBe('deleted');
        const { organizationId } = someone;
        const asked = [
          { organizationId: run.tenant.organizationId, id: run.id },
          ...[own, foreign, gone, { id: newCrawlId() }].map(({ id }) => ({ organizationId, id })),
        ];
        expect(version).toBeGreaterThan(own.version);
        expect(await store.getVersions(asked)).toEqual(
          new Map([
            [run.id, version],
            [own.id, own.version],
          ]),
        );
        expect(await store.getVersions([foreign])).toEqual(new Map([[foreign.id, foreign.version]]));
        expect(await store.getVersions([])).toEqual(new Map());
      }),
    );

    test(
      'are read of a thousand crawls at once',
      inWorld(harness, async ({ store, tenant }) => {
        const crawls = [...(await startSome(await tenant(), 2, 70)), ...(await startSome(await tenant(), 1, 10))];
        const { organizationId } = await tenant();
        const absent = Array.from({ length: 1_000 - crawls.length }, () => ({ organizationId, id: newCrawlId() }));
        expect(await store.getVersions([...absent, ...crawls])).toEqual(new Map(crawls.map(({ id, version }) => [id, version])));
      }),
    );
  });

  describe('the list of sites', () => {
    test(
      'is ordered by authority, in steps, each once',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        for (const authority of ['c.example', 'a.example', 'b.example:81', 'b.example', 'a.example'])
          await someone.start({ authority, host: authority.replace(':81', '') });
        const { organizationId } = someone;
        const first = await store.listSites({ organizationId, limit: 2 });
        const rest = await store.listSites({ organizationId, after: 'b.example', limit: 10 });
        expect([...first, ...rest].map((site) => site.authority)).toEqual(['a.example', 'b.example', 'b.example:81', 'c.example']);
        expect(await store.getSites(organizationId, idsOf(rest) as never)).toHaveLength(2);
      }),
    );
  });

  describe('the list of pages', () => {
    test(
      'is by seq, in steps, by status, and null when the crawl is absent',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token } = await fetching();
        const results = seqs(0, 4).map((seq) => without(seq * 2, seq === 0 ? 'redirected' : 'failed'));
        await store.commitPages(id, token, batchOf(1, { discovered: seqs(0, 9).map((seq) => discovered(seq)), results }));
        answered(await store.finish(id, token, { endReason: 'max_urls', error: null }, 0));
        const list = async (query: object) =>
          (await store.listPages(tenant.organizationId, id, { limit: 100, ...query }))?.map((page) => page.seq);
        expect(await list({})).toEqual(seqs(0, 9));
        expect(await list({ afterSeq: 3, limit: 3 })).toEqual([4, 5, 6]);
        expect(await list({ status: 'failed' })).toEqual([2, 4, 6, 8]);
        expect(await list({ status: 'queued', afterSeq: 4 })).toEqual([5, 7, 9]);
        expect(await list({ status: 'fetched' })).toEqual([]);
        expect(await store.listPages(tenant.organizationId, newCrawlId(), { limit: 1 })).toBeNull();
        expect(await store.listFindings(tenant.organizationId, newCrawlId(), { limit: 1 })).toBeNull();
      }),
    );
  });
}
