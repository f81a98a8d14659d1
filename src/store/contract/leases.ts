import { describe, expect, test } from 'vitest';
import { WORKER_LOST_ERROR } from '#domain/lease.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, fetched, thisMonth } from './pages.ts';
import { claimNext, inWorld, LEASE_MS, newToken, type World } from './world.ts';

/** Claims what is claimable and lets the lease expire, `times` over; answers what the last reaping ended. */
async function loseLease({ store, ageLeases }: World, times: number) {
  for (let lost = 1; lost < times; lost++) {
    await claimNext(store);
    await ageLeases(LEASE_MS + 1);
    expect(await store.reapLeases()).toEqual([]);
  }
  await claimNext(store);
  await ageLeases(LEASE_MS + 1);
  return store.reapLeases();
}

export function leaseTests(harness: StoreHarness): void {
  describe('a lease', () => {
    test(
      'that is renewed outlives its first length',
      inWorld(harness, async ({ store, running, ageLeases }) => {
        const { id, token } = await running();
        await ageLeases(LEASE_MS * 0.7);
        expect(await store.heartbeat(id, token, LEASE_MS)).toEqual({ cancelRequested: false, leasesOnAuthority: 1 });
        await ageLeases(LEASE_MS * 0.7);
        expect(await store.reapLeases()).toEqual([]);
        expect(await store.heartbeat(id, token, LEASE_MS)).not.toBe('lost');
      }),
    );

    test(
      'that has expired stands until it is reaped: nobody else is given the crawl, and a late heartbeat saves it',
      inWorld(harness, async ({ store, running, ageLeases }) => {
        const { id, token } = await running();
        await ageLeases(LEASE_MS + 1);
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        expect(await store.heartbeat(id, token, LEASE_MS)).not.toBe('lost');
        await store.reapLeases();
        expect(await store.heartbeat(id, token, LEASE_MS)).not.toBe('lost');
      }),
    );

    test(
      'that was reaped is lost to its worker, and the crawl is given to the next',
      inWorld(harness, async ({ store, running, ageLeases }) => {
        const { id, token } = await running();
        await ageLeases(LEASE_MS + 1);
        expect(await store.reapLeases()).toEqual([]);
        expect(await store.heartbeat(id, token, LEASE_MS)).toBe('lost');
        const next = await claimNext(store);
        expect(next.snapshot.id).toBe(id);
        expect(await store.heartbeat(id, token, LEASE_MS)).toBe('lost');
        expect(await store.heartbeat(id, next.token, LEASE_MS)).not.toBe('lost');
      }),
    );

    test(
      'lost five times in a row ends the crawl worker_lost and gives its quota back',
      inWorld(harness, async (world) => {
        const { store, running, ageLeases } = world;
        const { tenant, id, token } = await running(1_000);
        await store.grantQuota(id, token, thisMonth(), 100);
        await ageLeases(LEASE_MS + 1);
        expect(await store.reapLeases()).toEqual([]);
        const ended = await loseLease(world, 4);
        const stored = await store.getCrawl(tenant.organizationId, id);
        expect(ended).toEqual([stored]);
        expect(stored).toMatchObject({ state: 'failed', phase: 'finished', endReason: 'worker_lost', error: WORKER_LOST_ERROR });
        expect(stored?.findingsCount).toBeNull();
        expect(stored?.finishedAt).not.toBeNull();
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        expect(await store.reapLeases()).toEqual([]);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 0, reserved: 0, remaining: 1_000 });
      }),
    );

    test(
      'lost after a page was stored is the first loss again; a batch without results changes nothing',
      inWorld(harness, async (world) => {
        const { store, tenant } = world;
        const { id } = await (await tenant()).start();
        expect(await loseLease(world, 4)).toEqual([]);
        const run = await claimNext(store);
        await store.grantQuota(id, run.token, thisMonth(), 1);
        await store.commitPages(id, run.token, batchOf(1, { discovered: [discovered(0)], results: [fetched(0)] }));
        await store.release(id, run.token);
        expect(await loseLease(world, 4)).toEqual([]);
        const other = await claimNext(store);
        await store.commitPages(id, other.token, batchOf(2, { discovered: [discovered(1)] }));
        await store.release(id, other.token);
        expect(await loseLease(world, 1)).toMatchObject([{ id, endReason: 'worker_lost' }]);
      }),
    );

    test(
      'reaped by five at once is one loss',
      inWorld(harness, async (world) => {
        const { store, running, ageLeases } = world;
        await running();
        await ageLeases(LEASE_MS + 1);
        await Promise.all(Array.from({ length: 5 }, () => store.reapLeases()));
        expect(await loseLease(world, 3)).toEqual([]);
        expect(await loseLease(world, 1)).toHaveLength(1);
      }),
    );

    test(
      'that is released is no loss, however often, and the crawl is claimable at once',
      inWorld(harness, async ({ store, tenant }) => {
        const { id } = await (await tenant()).start();
        for (let times = 0; times < 7; times++) {
          const claim = await claimNext(store);
          expect(claim.snapshot).toMatchObject({ id, state: 'running' });
          await store.release(id, claim.token);
          expect(await store.heartbeat(id, claim.token, LEASE_MS)).toBe('lost');
        }
      }),
    );

    test(
      'is not touched by the release of one who has lost it',
      inWorld(harness, async ({ store, running, ageLeases }) => {
        const { id, token } = await running();
        await ageLeases(LEASE_MS + 1);
        await store.reapLeases();
        const next = await claimNext(store);
        await store.release(id, token);
        expect(await store.heartbeat(id, next.token, LEASE_MS)).not.toBe('lost');
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
      }),
    );
  });
}
