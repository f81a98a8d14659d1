import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { OrganizationId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { everythingOf, type Filled, fill, repeated } from './filled.ts';
import type { StoreHarness } from './harness.ts';
import { sweepAll } from './keeping.ts';
import { batchOf, discovered, fetchPages, seqs, thisMonth } from './pages.ts';
import { answered, claimNext, hashOf, inWorld, LEASE_MS, newCrawl, newKey, newToken, relayAll, type Tenant, type World } from './world.ts';

const DAY = 24 * 60 * 60 * 1_000;
const MOST_OF_A_STEP = 500;

/** Steps until nothing is left to remove; answers how many records each took. */
export async function removeAll(store: Store, id: OrganizationId): Promise<number[]> {
  const steps: number[] = [];
  for (;;) {
    const removed = await store.continueOrganizationRemoval(id);
    if (removed === 0) return steps;
    expect(removed).toBeLessThanOrEqual(MOST_OF_A_STEP);
    steps.push(removed);
    expect(steps.length).toBeLessThan(1_000);
  }
}

/** Every id by which something of an organization could be found. */
export async function idsOf(store: Store, organizationId: OrganizationId): Promise<string[]> {
  const [keys, crawls, sites] = [
    await store.listKeys(organizationId),
    await store.listCrawls({ organizationId, limit: 1_000 }),
    await store.listSites({ organizationId, limit: 1_000 }),
  ];
  return [organizationId, ...[...keys, ...crawls, ...sites].map(({ id }) => id)];
}

/** The records in which one of these texts stands. */
export const naming = async ({ records }: Pick<World, 'records'>, texts: readonly string[]): Promise<string[]> =>
  (await records()).filter((record) => texts.some((text) => record.includes(text)));

/** A day later what came late is looked for; when that was a crawl, its id is remembered for another day. Then nothing names any of them. */
export async function expectForgotten(world: Pick<World, 'records' | 'store' | 'ageRecords'>, texts: readonly string[]): Promise<void> {
  for (let days = 0; days < 2; days++) {
    await world.ageRecords(DAY + 1);
    await sweepAll(world.store);
  }
  expect(await naming(world, texts)).toEqual([]);
}

export function removalTests(harness: StoreHarness): void {
  /** A test on an organization in which everything is that can be kept, beside another one with the same. */
  const beside = (body: (world: World, filled: Filled, other: Tenant) => Promise<void>): (() => Promise<void>) =>
    inWorld(harness, async (world) => {
      const { tenant: other } = await fill(world.store);
      await body(world, await fill(world.store), other);
    });

  describe('the removal of an organization', () => {
    test(
      'makes it as absent as one that does not exist, at once',
      beside(async ({ store }, filled) => {
        const { tenant, running, token, secret } = filled;
        const { organizationId, keyId } = tenant;
        const { id: queued } = await tenant.start();
        const organization = answered(await store.findOrganization(organizationId));
        const before = await store.now();
        const removal = answered(await store.beginOrganizationRemoval(organizationId));
        expect(removal).toEqual({ id: organizationId, name: organization.name, removedAt: expect.any(Number) });
        expect(removal.removedAt).toBeGreaterThanOrEqual(before);
        expect(removal.removedAt).toBeLessThanOrEqual(await store.now());
        expect(await store.listOrganizationRemovals()).toEqual([removal]);

        expect(await store.findKeyBySecret(hashOf(secret))).toBeNull();
        expect(await store.findOrganization(organizationId)).toBeNull();
        expect(await store.findOrganization(organization.name)).toBeNull();
        expect((await store.listOrganizations()).map(({ id }) => id)).not.toContain(organizationId);
        expect(await store.setMonthlyUrlQuota(organizationId, 5)).toBeNull();
        expect(await store.getUsage(organizationId)).toBeNull();
        await expect(store.createKey(newKey(organizationId))).rejects.toThrow(RangeError);
        expect(await store.createCrawl(newCrawl({ organizationId, keyId }))).toEqual({ kind: 'no_organization' });
        expect(await store.createCrawl(repeated(filled))).toEqual({ kind: 'no_organization' });
        const sameName = { id: randomUUID() as OrganizationId, name: organization.name, monthlyUrlQuota: 1 };
        expect(await store.createOrganization(sameName)).toBe('taken');

        const events = await store.listEvents(organizationId, 0, 100);
        expect(await relayAll(store)).toBe(1);
        expect(await store.listEvents(organizationId, 0, 100)).toEqual(events);
        expect(await store.heartbeat(running, token, LEASE_MS)).toBe('lost');
        expect(await store.grantQuota(running, token, thisMonth(), 1)).toBe('lost');
        expect(await store.commitPages(running, token, batchOf(3, { discovered: [discovered(60)] }))).toBe('lost');
        expect(await store.readFrontier(running, token, -1, 10)).toBe('lost');
        expect(await store.finish(running, token, { endReason: 'completed', error: null }, null)).toBe('lost');
        await store.release(running, token);
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        expect((await store.getSnapshots([queued])).map(({ phase }) => phase)).not.toContain('fetching');
      }),
    );

    test(
      'removes all that is its in steps of 500 records at most, and nothing of others',
      beside(async (world, { tenant: { organizationId }, running, token, secret }, other) => {
        const { store } = world;
        const more = seqs(60, 1_300);
        for (let at = 0; at < more.length; at += 100) {
          const pages = more.slice(at, at + 100).map((seq) => discovered(seq));
          answered(await store.commitPages(running, token, batchOf(3 + at / 100, { discovered: pages })));
        }
        const name = answered(await store.findOrganization(organizationId)).name;
        const ids = await idsOf(store, organizationId);
        const untouched = await everythingOf(store, other);
        await store.beginOrganizationRemoval(organizationId);
        const steps = await removeAll(store, organizationId);
        expect(steps.length).toBeGreaterThan(8);
        expect(Object.values(await everythingOf(store, { organizationId })).flat()).toEqual([]);
        expect(await store.getSnapshots([running])).toEqual([]);
        expect(await store.listOrganizationRemovals()).toEqual([]);
        expect(await naming(world, [name, hashOf(secret)])).toEqual([]);
        expect(await everythingOf(store, other)).toEqual(untouched);
        await expectForgotten(world, ids);
      }),
    );

    test(
      'leaves its name taken until the last step, and free for a new one from then on, which has nothing of the old one',
      beside(async ({ store }, { tenant: { organizationId }, secret }) => {
        const { name } = answered(await store.findOrganization(organizationId));
        const again = { id: randomUUID() as OrganizationId, name, monthlyUrlQuota: 7 };
        await store.beginOrganizationRemoval(organizationId);
        while ((await store.listOrganizationRemovals()).length > 0) {
          expect(await store.createOrganization(again)).toBe('taken');
          expect(await store.continueOrganizationRemoval(organizationId)).toBeGreaterThan(0);
        }
        expect(await store.createOrganization(again)).toMatchObject(again);
        expect(await store.findOrganization(name)).toMatchObject({ id: again.id });
        expect(await store.continueOrganizationRemoval(organizationId)).toBe(0);
        const key = newKey(again.id);
        await store.createKey(key);
        expect(await store.findKeyBySecret(hashOf(secret))).toBeNull();
        expect(await store.findKeyBySecret(key.secretHash)).toMatchObject({ id: key.id });
        expect(await store.createCrawl(newCrawl({ organizationId: again.id, keyId: key.id }))).toMatchObject({ kind: 'created' });
        expect(await store.listCrawls({ organizationId: again.id, limit: 10 })).toHaveLength(1);
        expect(await store.getUsage(again.id)).toMatchObject({ limit: 7, used: 0 });
      }),
    );

    test(
      'that is asked for again answers the same; of an unknown one, or one that has gone, null',
      beside(async ({ store }, { tenant: { organizationId } }) => {
        const first = await store.beginOrganizationRemoval(organizationId);
        expect(await store.beginOrganizationRemoval(organizationId)).toEqual(first);
        await removeAll(store, organizationId);
        expect(await store.beginOrganizationRemoval(organizationId)).toBeNull();
        expect(await store.continueOrganizationRemoval(organizationId)).toBe(0);
        expect(await store.beginOrganizationRemoval(randomUUID() as OrganizationId)).toBeNull();
      }),
    );

    test(
      'removes nothing before it has begun',
      beside(async ({ store }, { tenant }) => {
        const everything = await everythingOf(store, tenant);
        expect(await store.continueOrganizationRemoval(tenant.organizationId)).toBe(0);
        expect(await everythingOf(store, tenant)).toEqual(everything);
      }),
    );

    test(
      'is finished by the sweep where nobody else goes on',
      beside(async (world, { tenant: { organizationId } }, other) => {
        const { store } = world;
        const ids = await idsOf(store, organizationId);
        const untouched = await everythingOf(store, other);
        await store.beginOrganizationRemoval(organizationId);
        await sweepAll(store);
        expect(await store.listOrganizationRemovals()).toEqual([]);
        expect(Object.values(await everythingOf(store, { organizationId })).flat()).toEqual([]);
        expect(await everythingOf(store, other)).toEqual(untouched);
        await expectForgotten(world, ids);
      }),
    );

    test(
      'that several go on with at once, the sweep among them, comes to its end as by one',
      beside(async (world, { tenant: { organizationId } }, other) => {
        const { store } = world;
        const ids = await idsOf(store, organizationId);
        const untouched = await everythingOf(store, other);
        await Promise.all(Array.from({ length: 5 }, () => store.beginOrganizationRemoval(organizationId)));
        await Promise.all([...Array.from({ length: 5 }, () => removeAll(store, organizationId)), sweepAll(store)]);
        await removeAll(store, organizationId);
        expect(await store.listOrganizationRemovals()).toEqual([]);
        expect(Object.values(await everythingOf(store, { organizationId })).flat()).toEqual([]);
        expect(await everythingOf(store, other)).toEqual(untouched);
        await expectForgotten(world, ids);
      }),
    );

    test(
      'races with starts, new keys, claims and batches, and leaves nothing of them',
      inWorld(harness, async (world) => {
        const { store } = world;
        for (let times = 0; times < 5; times++) {
          const tenant = await world.tenant();
          const { organizationId } = tenant;
          const { id } = await tenant.start();
          const { token } = await claimNext(store);
          const keys = Array.from({ length: 5 }, () => newKey(organizationId));
          const starts = Array.from({ length: 5 }, () => newCrawl(tenant, { idempotency: { key: randomUUID(), requestHash: 'h' } }));
          const racing = Promise.allSettled([
            ...starts.map((crawl) => store.createCrawl(crawl)),
            ...keys.map((key) => store.createKey(key)),
            store.commitPages(id, token, batchOf(1, { discovered: seqs(0, 20).map((seq) => discovered(seq)) })),
            store.grantQuota(id, token, thisMonth(), 10),
            store.relayEvents(100),
          ]);
          if (times % 2 === 0) await store.now();
          await store.beginOrganizationRemoval(organizationId);
          await removeAll(store, organizationId);
          for (const end of await racing) if (end.status === 'rejected') expect(end.reason).toBeInstanceOf(RangeError);
          expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
          await expectForgotten(world, [organizationId, id, ...keys.map((key) => key.id), ...starts.map((crawl) => crawl.id)]);
        }
      }),
    );

    test(
      'leaves the crawls of others to be claimed, however many of its own wait',
      inWorld(harness, async ({ store, tenant }) => {
        const gone = await tenant();
        for (let starts = 0; starts < 15; starts++) await gone.start();
        const stays = await tenant();
        const { id } = await stays.start();
        await store.beginOrganizationRemoval(gone.organizationId);
        expect(await store.getQueue()).toMatchObject({ waiting: expect.any(Number) });
        expect((await claimNext(store)).snapshot.id).toBe(id);
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        await removeAll(store, gone.organizationId);
        expect(await store.getQueue()).toEqual({ waiting: 0, oldestMs: 0 });
      }),
    );

    test(
      'takes along what deleted crawls have left, and what is charged',
      inWorld(harness, async (world) => {
        const { store } = world;
        const { tenant, id, token } = await world.running();
        const { organizationId } = tenant;
        await fetchPages(store, id, token, 30);
        await store.finish(id, token, { endReason: 'completed', error: null }, 0);
        const deleted = await tenant.start({ idempotency: { key: 'told by the client', requestHash: 'h' } });
        await store.cancelCrawl(organizationId, deleted.id);
        await store.deleteCrawl(organizationId, deleted.id);
        await store.deleteCrawl(organizationId, id);
        await store.beginOrganizationRemoval(organizationId);
        await removeAll(store, organizationId);
        expect(await naming(world, ['told by the client', 'example.com'])).toEqual([]);
        await expectForgotten(world, [organizationId, id, deleted.id, tenant.keyId]);
      }),
    );
  });
}
