import { describe, expect, test } from 'vitest';
import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { COMPLETED, finding } from './analysis.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, fetched, fetchPages, thisMonth } from './pages.ts';
import { answered, claimNext, inWorld, LEASE_MS, newToken, relayAll } from './world.ts';

type Call = (store: Store, id: CrawlId, token: LeaseToken) => Promise<unknown>;

/** Everything that takes a token and answers 'lost' without it. */
const CALLS: Record<string, Call> = {
  heartbeat: (store, id, token) => store.heartbeat(id, token, LEASE_MS),
  readFrontier: (store, id, token) => store.readFrontier(id, token, -1, 10),
  commitPages: (store, id, token) => store.commitPages(id, token, batchOf(2, { discovered: [discovered(7)] })),
  'commitPages of the last batch': (store, id, token) =>
    store.commitPages(id, token, batchOf(1, { discovered: [discovered(0)], results: [fetched(0)] })),
  grantQuota: (store, id, token) => store.grantQuota(id, token, thisMonth(), 10),
  beginAnalysis: (store, id, token) => store.beginAnalysis(id, token, COMPLETED),
  readPages: (store, id, token) => store.readPages(id, token, -1, 10),
  readPagesBySeq: (store, id, token) => store.readPagesBySeq(id, token, [0]),
  addFindings: (store, id, token) => store.addFindings(id, token, [finding(0)]),
  finish: (store, id, token) => store.finish(id, token, COMPLETED, 1),
};

export function exclusionTests(harness: StoreHarness): void {
  describe.each(Object.entries(CALLS))('%s', (_, call) => {
    test(
      'is lost, and changes nothing, for one whose lease was reaped, whether or not the next has come',
      inWorld(harness, async ({ store, running, ageLeases }) => {
        const { tenant, id, token } = await running(100);
        await fetchPages(store, id, token, 1);
        await ageLeases(LEASE_MS + 1);
        await store.reapLeases();
        const before = await store.getCrawl(tenant.organizationId, id);
        expect(await call(store, id, token)).toBe('lost');
        const next = await claimNext(store);
        expect(await call(store, id, token)).toBe('lost');
        expect(await call(store, id, newToken())).toBe('lost');
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(before);
        expect(await store.readFrontier(id, next.token, -1, 10)).toHaveLength(1);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 1, reserved: 0 });
      }),
    );

    test(
      'is lost, and changes nothing, once the crawl is final',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id, token } = await running(100);
        await fetchPages(store, id, token, 1);
        const final = answered(await store.finish(id, token, COMPLETED, 0));
        expect(await call(store, id, token)).toBe('lost');
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(final);
        expect(await store.listPages(tenant.organizationId, id, { limit: 10 })).toHaveLength(1);
        expect(await store.listFindings(tenant.organizationId, id, { limit: 10 })).toEqual([]);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 1, reserved: 0 });
        expect(await relayAll(store)).toBe(2);
      }),
    );
  });

  describe('another organization', () => {
    test(
      'sees nothing of a crawl, and can do nothing to it',
      inWorld(harness, async ({ store, running, tenant }) => {
        const { id, token, claim, tenant: owner } = await running();
        const { organizationId } = await tenant();
        await fetchPages(store, id, token, 1);
        await store.addFindings(id, token, [finding(0)]);
        expect(await store.cancelCrawl(organizationId, id)).toBeNull();
        const final = answered(await store.finish(id, token, COMPLETED, 1));
        await relayAll(store);
        expect(await store.getCrawl(organizationId, id)).toBeNull();
        expect(await store.listPages(organizationId, id, { limit: 10 })).toBeNull();
        expect(await store.listFindings(organizationId, id, { limit: 10 })).toBeNull();
        expect(await store.deleteCrawl(organizationId, id)).toBeNull();
        expect(await store.cancelCrawl(organizationId, id)).toBeNull();
        expect(await store.listCrawls({ organizationId, limit: 10 })).toEqual([]);
        expect(await store.listCrawls({ organizationId, siteId: claim.snapshot.siteId, limit: 10 })).toEqual([]);
        expect(await store.countCrawls(organizationId, {}, 10)).toBe(0);
        expect((await store.listChanged(organizationId, 0, 10)).snapshots).toEqual([]);
        expect(await store.getSites(organizationId, [claim.snapshot.siteId])).toEqual([]);
        expect(await store.listSites({ organizationId, limit: 10 })).toEqual([]);
        expect(await store.listEvents(organizationId, 0, 10)).toEqual([]);
        expect(await store.getUsage(organizationId)).toMatchObject({ used: 0, reserved: 0 });
        expect(await store.getCrawl(owner.organizationId, id)).toEqual(final);
      }),
    );
  });
}
