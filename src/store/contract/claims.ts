import { describe, expect, test } from 'vitest';
import type { Claim } from '../store.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, fetched, thisMonth } from './pages.ts';
import { claimNext, inWorld, LEASE_MS, newCrawlId, newToken } from './world.ts';

export function claimTests(harness: StoreHarness): void {
  describe('claim', () => {
    test(
      'answers null when there is nothing to run',
      inWorld(harness, async ({ store }) => {
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
      }),
    );

    test(
      'gives a new crawl as it is, under the caller’s token',
      inWorld(harness, async ({ store, tenant }) => {
        const snapshot = await (await tenant()).start();
        const token = newToken();
        const claim = await store.claim(token, LEASE_MS);
        expect(claim).toEqual({
          snapshot,
          token,
          batch: 0,
          holds: [],
          ending: null,
          leasesOnAuthority: 1,
          claimedAt: claim?.claimedAt,
        });
        expect(claim?.claimedAt).toBeGreaterThanOrEqual(snapshot.startedAt);
        expect(claim?.claimedAt).toBeLessThanOrEqual(await store.now());
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
      }),
    );

    test(
      'repeated under its token, answers the same claim again and takes nothing more: the first answer may have been lost',
      inWorld(harness, async ({ store, tenant, ageLeases }) => {
        const someone = await tenant();
        await someone.start();
        await someone.start();
        const token = newToken();
        const first = await store.claim(token, LEASE_MS);
        await ageLeases(LEASE_MS * 0.7);
        const second = await store.claim(token, LEASE_MS);
        expect(second).toEqual({ ...first, claimedAt: second?.claimedAt });
        await ageLeases(LEASE_MS * 0.7);
        await store.reapLeases();
        expect(await store.heartbeat(first?.snapshot.id ?? newCrawlId(), token, LEASE_MS)).toBe('lost');
        expect(await Promise.all([store.claim(newToken(), LEASE_MS), store.claim(newToken(), LEASE_MS)])).not.toContain(null);
      }),
    );

    test(
      'gives an organization’s crawls oldest first',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const someone = await tenant();
        const started: string[] = [];
        for (let index = 0; index < 4; index++) {
          await ageRecords(10);
          started.push((await someone.start()).id);
        }
        const claimed: string[] = [];
        for (let index = 0; index < 4; index++) claimed.push((await claimNext(store)).snapshot.id);
        expect(claimed).toEqual(started);
      }),
    );

    test(
      'prefers the organization with the fewest running crawls, however many another one has waiting',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const [big, small] = [await tenant(), await tenant()];
        for (let index = 0; index < 6; index++) await big.start();
        await ageRecords(1_000);
        for (let index = 0; index < 2; index++) await small.start();
        const owners: string[] = [];
        for (let index = 0; index < 8; index++) owners.push((await claimNext(store)).snapshot.organizationId);
        expect(owners.slice(0, 2).sort()).toEqual([big.organizationId, small.organizationId].sort());
        expect(owners.slice(2, 4).sort()).toEqual([big.organizationId, small.organizationId].sort());
        expect(owners.slice(4)).toEqual(Array(4).fill(big.organizationId));
      }),
    );

    test(
      'is had by another organization first, when one that has at least two leases more gives one up',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const [busy, quiet, third] = [await tenant(), await tenant(), await tenant()];
        const all = [busy, quiet, third].map(({ organizationId }) => organizationId);
        expect(await store.whoYields(all)).toBeNull(); // nobody waits
        const claims: Claim[] = [];
        for (let index = 0; index < 3; index++) {
          await busy.start();
          claims.push(await claimNext(store));
        }
        expect(await store.whoYields(all)).toBeNull();
        await busy.start();
        expect(await store.whoYields(all)).toBeNull(); // its own crawl waits
        await ageRecords(60_000);
        const late = await quiet.start();
        expect(await store.whoYields(all)).toBe(busy.organizationId);
        expect(await store.whoYields([third.organizationId, quiet.organizationId])).toBeNull();
        expect(await store.whoYields([])).toBeNull();
        const given = claims.pop();
        if (given === undefined) throw new Error('nothing was claimed');
        await store.release(given.snapshot.id, given.token);
        expect((await claimNext(store)).snapshot.id).toBe(late.id);
        await quiet.start();
        expect(await store.whoYields(all)).toBeNull(); // two leases and one
      }),
    );

    test(
      'is foretold by the queue: what waits, over all organizations, and for how long the oldest',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        expect(await store.getQueue()).toEqual({ waiting: 0, oldestMs: 0 });
        const [one, other] = [await tenant(), await tenant()];
        await one.start();
        await ageRecords(60_000);
        for (let index = 0; index < 2; index++) await other.start();
        const queue = await store.getQueue();
        expect(queue.waiting).toBe(3);
        expect(queue.oldestMs).toBeGreaterThanOrEqual(60_000);
        expect(queue.oldestMs).toBeLessThan(120_000);
        const first = await claimNext(store);
        expect(await store.getQueue()).toMatchObject({ waiting: 2 });
        expect((await store.getQueue()).oldestMs).toBeLessThan(60_000);
        await store.release(first.snapshot.id, first.token);
        expect(await store.getQueue()).toMatchObject({ waiting: 3 });
        for (let index = 0; index < 3; index++) await claimNext(store);
        expect(await store.getQueue()).toEqual({ waiting: 0, oldestMs: 0 });
      }),
    );

    test(
      'gives ten crawls to twenty racing callers once each',
      inWorld(harness, async ({ store, tenant }) => {
        const tenants = [await tenant(), await tenant(), await tenant()];
        const ids: string[] = [];
        for (let index = 0; index < 10; index++) ids.push(((await tenants[index % 3]?.start()) ?? { id: '' }).id);
        const claims = await Promise.all(Array.from({ length: 20 }, () => store.claim(newToken(), LEASE_MS)));
        const given = claims.flatMap((claim) => (claim === null ? [] : [claim.snapshot.id as string]));
        expect(given.sort()).toEqual(ids.sort());
      }),
    );

    test(
      'tells how many leases are live on the authority, over all organizations, as does each heartbeat',
      inWorld(harness, async ({ store, tenant }) => {
        const [one, other] = [await tenant(), await tenant()];
        await one.start();
        const first = await claimNext(store);
        expect(first.leasesOnAuthority).toBe(1);
        await other.start({ authority: 'example.com:8080', url: 'https://example.com:8080/' });
        expect((await claimNext(store)).leasesOnAuthority).toBe(1);
        await other.start();
        const third = await claimNext(store);
        expect(third.leasesOnAuthority).toBe(2);
        expect(await store.heartbeat(first.snapshot.id, first.token, LEASE_MS)).toEqual({ cancelRequested: false, leasesOnAuthority: 2 });
        await store.release(third.snapshot.id, third.token);
        expect(await store.heartbeat(first.snapshot.id, first.token, LEASE_MS)).toMatchObject({ leasesOnAuthority: 1 });
      }),
    );

    test(
      'gives the next worker what the last one committed: batch, holds and counters',
      inWorld(harness, async ({ store, running }) => {
        const { id, token } = await running();
        await store.grantQuota(id, token, thisMonth(), 30);
        const batch = batchOf(1, { discovered: [discovered(0), discovered(1)], results: [fetched(0)] });
        const committed = await store.commitPages(id, token, batch);
        await store.release(id, token);
        const next = await claimNext(store);
        expect(next).toMatchObject({ batch: 1, holds: [{ month: thisMonth(), granted: 30, used: 1 }], ending: null });
        expect(next.snapshot).toEqual(committed);
      }),
    );
  });
}
