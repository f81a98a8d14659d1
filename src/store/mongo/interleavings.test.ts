import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CrawlId } from '#domain/ids.ts';
import { copyOver, everythingOf, fill } from '../contract/filled.ts';
import { sweepAll } from '../contract/keeping.ts';
import { batchOf, discovered, fetched, thisMonth } from '../contract/pages.ts';
import { expectForgotten, idsOf, removeAll } from '../contract/removal.ts';
import { answered, claimNext, createTenant, hashOf, LEASE_MS, newCrawl, newKey, newToken, type Tenant } from '../contract/world.ts';
import type { Claim, Store } from '../store.ts';
import { firstHost, mongoHarness, silent, urlOf } from './fixtures/harness.ts';
import { type HoldingProxy, startHoldingProxy } from './fixtures/holding-proxy.ts';
import { withServer } from './fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from './open.ts';

const HOUR = 60 * 60 * 1_000;

withServer('a process that is paused between two commands to MongoDB', (url, admin) => {
  const harness = mongoHarness(url, admin);

  /** A store, and the same one as a process sees it that can be paused before a command. */
  async function paused(body: (world: Awaited<ReturnType<typeof harness.open>> & { slow: Store; proxy: HoldingProxy }) => Promise<void>) {
    const opened = await harness.open();
    const proxy = await startHoldingProxy(firstHost(url));
    const through = urlOf(url, opened.database, { hosts: `127.0.0.1:${proxy.port}`, query: 'directConnection=true' });
    const slow = await openMongoStore({ url: through, log: silent, settings: DEFAULT_MONGO_SETTINGS });
    try {
      await body({ ...opened, slow, proxy });
    } finally {
      await slow.close();
      await proxy.close();
      await opened.close();
    }
  }

  /** A start under an idempotency key that lost the last slot and is about to take the key's record back. */
  async function refused({ store, slow, proxy }: { store: Store; slow: Store; proxy: HoldingProxy }) {
    const tenant = await createTenant(store);
    const asking = (requestHash = 'same') => newCrawl(tenant, { idempotency: { key: 'k', requestHash } });
    for (let starts = 0; starts < 9; starts++) await store.createCrawl(newCrawl(tenant));
    const remembering = proxy.hold('update', 'idempotency');
    const outcome = slow.createCrawl(asking());
    await remembering.arrived;
    expect(await store.createCrawl(newCrawl(tenant))).toMatchObject({ kind: 'created' });
    const takingBack = proxy.hold('delete', 'idempotency');
    remembering.letGo();
    await takingBack.arrived;
    return { tenant, asking, outcome, takingBack };
  }

  test('and is refused a start leaves the idempotency key alone with which another start was accepted meanwhile', () =>
    paused(async (world) => {
      const { store, ageStarts } = world;
      const { tenant, asking, outcome, takingBack } = await refused(world);
      await ageStarts(tenant.keyId, 60_000);
      const accepted = await store.createCrawl(asking());
      expect(accepted).toMatchObject({ kind: 'created' });
      takingBack.letGo();
      expect(await outcome).toMatchObject({ kind: 'rate_limited' });
      const repeated = await store.createCrawl(asking());
      expect(repeated).toEqual({ ...accepted, kind: 'replayed', starts: expect.anything() });
      expect(await store.countCrawls(tenant.organizationId, {}, 20)).toBe(11);
    }));

  test('and has taken a slot for a start whose key was given up meanwhile makes the key its own again', () =>
    paused(async (world) => {
      const { store, slow, proxy, ageStarts } = world;
      const { tenant, asking, outcome, takingBack } = await refused(world);
      await ageStarts(tenant.keyId, 60_000);
      // the other one has the slot, and the record goes before it makes the crawl
      const keeping = proxy.hold('update', 'idempotency');
      const accepted = slow.createCrawl(asking());
      await keeping.arrived;
      takingBack.letGo();
      expect(await outcome).toMatchObject({ kind: 'rate_limited' });
      keeping.letGo();
      expect(await accepted).toMatchObject({ kind: 'created' });
      expect(await store.createCrawl(asking())).toMatchObject({ kind: 'replayed' });
      expect(await store.countCrawls(tenant.organizationId, {}, 20)).toBe(11);
    }));

  test('and has taken a slot for a start whose key is another’s by now answers that one', () =>
    paused(async (world) => {
      const { store, slow, proxy, ageStarts } = world;
      const { tenant, asking, outcome, takingBack } = await refused(world);
      await ageStarts(tenant.keyId, 60_000);
      const keeping = proxy.hold('update', 'idempotency');
      const late = slow.createCrawl(asking());
      await keeping.arrived;
      takingBack.letGo();
      await outcome;
      const winner = await store.createCrawl(asking());
      expect(winner).toMatchObject({ kind: 'created' });
      keeping.letGo();
      const answer = await late;
      expect(answer).toEqual({ ...winner, kind: 'replayed', starts: expect.anything() });
      expect(await store.countCrawls(tenant.organizationId, {}, 20)).toBe(11);
    }));

  test('and brings in a batch of a crawl that was deleted meanwhile leaves no page: what comes late is swept a day later', () =>
    paused(async ({ store, slow, proxy, database, ageLeases, ageRecords }) => {
      const { organizationId, start } = await createTenant(store);
      const { id } = await start();
      const { token } = await claimNext(slow);
      await slow.grantQuota(id, token, thisMonth(), 1);
      const bringingIn = proxy.hold('update', 'pages');
      const batch = batchOf(1, { discovered: [discovered(0), discovered(1)], results: [fetched(0)] });
      const committing = slow.commitPages(id, token, batch);
      await bringingIn.arrived;
      await ageLeases(LEASE_MS + 1);
      await store.reapLeases();
      answered(await store.finish(id, (await claimNext(store)).token, { endReason: 'completed', error: null }, 0));
      expect(await store.deleteCrawl(organizationId, id)).toBe('deleted');
      await sweepAll(store);
      const [pages, trash] = [admin.db(database).collection('pages'), admin.db(database).collection('trash')];
      expect(await pages.countDocuments()).toBe(0);
      bringingIn.letGo();
      await committing;
      expect(await pages.countDocuments()).toBe(2);
      await ageRecords(23 * HOUR);
      await sweepAll(store);
      expect(await trash.countDocuments()).toBe(1);
      await ageRecords(HOUR);
      await sweepAll(store);
      expect([await pages.countDocuments(), await trash.countDocuments()]).toEqual([0, 0]);
    }));

  test.each(['crawls', 'usage'])(
    'and goes on with a first grant, held before its update of %s, after the end of the crawl leaks none',
    (of) =>
      paused(async ({ store, slow, proxy, database, ageLeases }) => {
        const { organizationId, start } = await createTenant(store, 1_000);
        const { id } = await start();
        const { token } = await claimNext(slow);
        const granting = proxy.hold('update', of);
        const grant = slow.grantQuota(id, token, thisMonth(), 100);
        await granting.arrived;
        await ageLeases(LEASE_MS + 1);
        await store.reapLeases();
        const next = await claimNext(store);
        answered(await store.finish(id, next.token, { endReason: 'completed', error: null }, 0));
        granting.letGo();
        expect(await grant).toBe('lost');
        expect(await store.getUsage(organizationId)).toMatchObject({ used: 0, reserved: 0, remaining: 1_000 });
        expect(await admin.db(database).collection('usage').findOne({})).toMatchObject({ free: 1_000, holds: {} });
      }),
  );

  type Late = { readonly command: string; readonly of: string; readonly act: (slow: Store, held: LateWorld) => Promise<unknown> };
  type LateWorld = { readonly tenant: Tenant; readonly run: Claim };
  const started = (slow: Store, { tenant }: LateWorld) =>
    slow.createCrawl(newCrawl(tenant, { id: LATE_ID, idempotency: { key: 'late', requestHash: 'h' } }));
  const committed = (slow: Store, { run: { snapshot, token } }: LateWorld) =>
    slow.commitPages(snapshot.id, token, batchOf(1, { discovered: [discovered(0), discovered(1)] }));
  const granted = (slow: Store, { run: { snapshot, token } }: LateWorld) => slow.grantQuota(snapshot.id, token, thisMonth(), 10);
  const LATE_ID = randomUUID() as CrawlId;
  const LATE: Late[] = [
    { command: 'update', of: 'idempotency', act: started },
    { command: 'insert', of: 'start_rings', act: started },
    { command: 'findAndModify', of: 'start_rings', act: started },
    { command: 'insert', of: 'crawls', act: started },
    { command: 'update', of: 'sites', act: started },
    { command: 'findAndModify', of: 'crawls', act: committed },
    { command: 'update', of: 'pages', act: committed },
    { command: 'insert', of: 'usage', act: granted },
    { command: 'update', of: 'crawls', act: granted },
    { command: 'insert', of: 'events', act: (slow) => slow.relayEvents(10) },
    { command: 'update', of: 'api_keys', act: (slow, { tenant }) => slow.createKey(newKey(tenant.organizationId, 'late')) },
    { command: 'update', of: 'sites', act: (slow, { tenant }) => tenant.start().then(() => slow.claim(newToken(), LEASE_MS)) },
  ];

  test.each(LATE)(
    'before its $command of $of brings nothing in that stays when its organization was removed meanwhile',
    ({ command, of, act }) =>
      paused(async (world) => {
        const { store, slow, proxy } = world;
        const tenant = await createTenant(store);
        await tenant.start();
        const late: LateWorld = { tenant, run: await claimNext(slow) };
        const before = proxy.hold(command, of);
        const outcome = Promise.allSettled([act(slow, late)]);
        await before.arrived;
        const ids = [...(await idsOf(store, tenant.organizationId)), LATE_ID];
        await store.beginOrganizationRemoval(tenant.organizationId);
        await removeAll(store, tenant.organizationId);
        expect(await store.listOrganizationRemovals()).toEqual([]);
        before.letGo();
        await outcome;
        expect(await store.findKeyBySecret(hashOf('late'))).toBeNull();
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        expect(await store.getSnapshots([LATE_ID])).toEqual([]);
        await expectForgotten(world, [...ids, 'late', 'example.com']);
      }),
  );

  test('and removes an organization that is copied in again within the day leaves that alone', () =>
    paused(async (world) => {
      const { store, ageRecords } = world;
      const { tenant } = await fill(store);
      const source = await harness.open();
      await copyOver(store, source.store, tenant);
      await store.beginOrganizationRemoval(tenant.organizationId);
      await removeAll(store, tenant.organizationId);
      await ageRecords(25 * HOUR);
      await copyOver(source.store, store, tenant);
      const everything = await everythingOf(store, tenant);
      await sweepAll(store);
      expect(await everythingOf(store, tenant)).toEqual(everything);
      await source.close();
    }));
});
