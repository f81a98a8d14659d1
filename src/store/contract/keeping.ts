import { describe, expect, test } from 'vitest';
import type { Retention, Store, StoredRobots } from '#store/store.ts';
import { COMPLETED, finding } from './analysis.ts';
import type { StoreHarness } from './harness.ts';
import { fetchPages, thisMonth } from './pages.ts';
import { claimNext, inWorld, newCrawl, newToken, relayAll } from './world.ts';

const DAY = 24 * 60 * 60 * 1_000;
const RETENTION: Retention = { crawlsMs: 90 * DAY, idempotencyMs: DAY };

/** Sweeps until nothing is left to remove; answers how many records went. */
export async function sweepAll(store: Store): Promise<number> {
  let removed = 0;
  for (let steps = 0; steps < 1_000; steps++) {
    const step = await store.sweep(RETENTION);
    if (step === 0) return removed;
    removed += step;
  }
  throw new Error('the sweep does not come to an end');
}

const robotsUntil = (expiresAt: number, changes: Partial<StoredRobots> = {}): StoredRobots => ({
  status: 200,
  body: 'User-agent: *\nDisallow: /private\n',
  error: null,
  fetchedAt: expiresAt - 1_000,
  expiresAt,
  ...changes,
});

export function keepingTests(harness: StoreHarness): void {
  describe('sweep', () => {
    test(
      'removes final crawls that are older than the retention, with what belongs to them, in small steps',
      inWorld(harness, async ({ store, running, ageRecords }) => {
        const { tenant, id, token } = await running();
        await fetchPages(store, id, token, 120);
        await store.addFindings(id, token, [finding(0)]);
        await store.finish(id, token, COMPLETED, 1);
        await relayAll(store);
        await ageRecords(90 * DAY + 1);
        const young = await tenant.start();
        expect(await sweepAll(store)).toBeGreaterThan(0);
        expect(await store.getCrawl(tenant.organizationId, id)).toBeNull();
        expect(await store.listPages(tenant.organizationId, id, { limit: 1 })).toBeNull();
        expect(await store.getSnapshots([id, young.id])).toEqual([young]);
        expect(await store.listEvents(tenant.organizationId, 0, 10)).toEqual([]);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 120, reserved: 0 });
      }),
    );

    test(
      'leaves what is younger, and a crawl that still runs however old',
      inWorld(harness, async ({ store, running, tenant, ageRecords }) => {
        const old = await running();
        await fetchPages(store, old.id, old.token, 3);
        await relayAll(store);
        await ageRecords(2 * DAY);
        const other = await tenant();
        const { id } = await other.start();
        await store.finish(id, (await claimNext(store)).token, COMPLETED, 0);
        await relayAll(store);
        await ageRecords(89 * DAY);
        await sweepAll(store);
        expect(await store.getCrawl(other.organizationId, id)).not.toBeNull();
        expect(await store.listEvents(other.organizationId, 0, 10)).toHaveLength(2);
        expect(await store.getCrawl(old.tenant.organizationId, old.id)).toMatchObject({ state: 'running' });
        expect(await store.readFrontier(old.id, old.token, -1, 10)).toHaveLength(3);
        expect(await store.getUsage(old.tenant.organizationId)).toMatchObject({ used: 3 });
      }),
    );

    test(
      'never lets the numbers of the log start again',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const someone = await tenant();
        const { id } = await someone.start();
        await store.finish(id, (await claimNext(store)).token, COMPLETED, 0);
        await relayAll(store);
        await ageRecords(91 * DAY);
        await sweepAll(store);
        await someone.start();
        await relayAll(store);
        expect((await store.listEvents(someone.organizationId, 0, 10)).map((event) => event.seq)).toEqual([3]);
      }),
    );

    test(
      'removes nothing, and says so, when nothing is old',
      inWorld(harness, async ({ store, tenant }) => {
        await (await tenant()).start();
        expect(await store.sweep(RETENTION)).toBe(0);
      }),
    );

    test(
      'that removes the holds of crawls that ended leaves what was charged, and nothing reserved',
      inWorld(harness, async ({ store, running, ageRecords }) => {
        const { tenant, id, token } = await running();
        await fetchPages(store, id, token, 4);
        await store.finish(id, token, COMPLETED, 0);
        await ageRecords(DAY + 1);
        await sweepAll(store);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 4, reserved: 0 });
        expect(await store.grantQuota(id, token, thisMonth(), 10)).toBe('lost');
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 4, reserved: 0 });
      }),
    );
  });

  describe('robots.txt of an origin', () => {
    test(
      'is kept until it expires, and the newest one counts',
      inWorld(harness, async ({ store, ageRecords }) => {
        const now = await store.now();
        const origin = 'https://example.com';
        expect(await store.getRobots(origin)).toBeNull();
        await store.putRobots(origin, robotsUntil(now + 3_600_000));
        expect(await store.getRobots(origin)).toEqual(robotsUntil(now + 3_600_000));
        const unreachable = robotsUntil(now + 3_700_000, { status: null, body: null, error: 'No connection.' });
        await store.putRobots(origin, unreachable);
        expect(await store.getRobots(origin)).toEqual(unreachable);
        expect(await store.getRobots('http://example.com')).toBeNull();
        await ageRecords(3_700_001);
        expect(await store.getRobots(origin)).toBeNull();
        expect(await store.sweep(RETENTION)).toBe(1);
      }),
    );
  });

  describe('a store', () => {
    test(
      'answers a ping, tells its time, and closes once however often it is asked',
      inWorld(harness, async ({ store }) => {
        await store.ping();
        expect(Math.abs((await store.now()) - Date.now())).toBeLessThan(5_000);
        await Promise.all([store.close(), store.close()]);
        await store.close();
      }),
    );

    test(
      'that is closed has stored what was under way and answers unavailable',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const starting = store.createCrawl(newCrawl(someone));
        const closing = store.close();
        expect(await starting).toMatchObject({ kind: 'created' });
        await closing;
        await expect(store.ping()).rejects.toMatchObject({ code: 'unavailable' });
        await expect(store.claim(newToken(), 1_000)).rejects.toMatchObject({ code: 'unavailable' });
      }),
    );
  });
}
