import { describe, expect, test } from 'vitest';
import { monthOf, resetsAt } from '#domain/quota.ts';
import type { Grant, Store } from '#store/store.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, fetched, fetchPages, seqs, thisMonth } from './pages.ts';
import { answered, claimNext, inWorld, newToken, type Tenant } from './world.ts';

const OTHER_MONTH = '2020-12';
const COMPLETED = { endReason: 'completed', error: null } as const;

async function startAndClaim(store: Store, tenant: Tenant) {
  const { id } = await tenant.start();
  return { id, token: (await claimNext(store)).token };
}

const totalOf = (grant: Grant | 'lost'): number => (grant !== 'lost' && grant.kind === 'granted' ? grant.granted : 0);

/** Asks for grants, five at a time, until the crawl's total grows no more; answers the total. */
async function grabAll(store: Store, run: Awaited<ReturnType<typeof startAndClaim>>, wanted: number): Promise<number> {
  let total = 0;
  for (;;) {
    const grants = await Promise.all(Array.from({ length: 5 }, () => store.grantQuota(run.id, run.token, thisMonth(), wanted)));
    const grown = Math.max(...grants.map(totalOf));
    if (grown <= total) return total;
    total = grown;
  }
}

export function quotaTests(harness: StoreHarness): void {
  describe('quota', () => {
    test(
      'of a month in which nothing was fetched is whole',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId } = await tenant(1_234);
        const month = monthOf(await store.now());
        expect(await store.getUsage(organizationId)).toEqual({
          month,
          limit: 1_234,
          used: 0,
          reserved: 0,
          remaining: 1_234,
          resetsAt: resetsAt(month),
        });
      }),
    );

    test(
      'of an organization that does not exist is none',
      inWorld(harness, async ({ store }) => {
        expect(await store.getUsage(newToken() as never)).toBeNull();
      }),
    );

    test(
      'is granted in steps of at most a hundred, of what is wanted, and of what is free',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running(250);
        const grant = (wanted: number) => store.grantQuota(id, token, thisMonth(), wanted);
        expect(await grant(30)).toEqual({ kind: 'granted', granted: 30, used: 0 });
        expect(await grant(10_000)).toEqual({ kind: 'granted', granted: 130, used: 0 });
        expect(await grant(500)).toEqual({ kind: 'granted', granted: 230, used: 0 });
        expect(await grant(500)).toEqual({ kind: 'granted', granted: 250, used: 0 });
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 0, reserved: 250, remaining: 0 });
      }),
    );

    test(
      'that is charged moves from reserved to used, and each grant tells what is used',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running(1_000);
        await fetchPages(store, id, token, 60);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 60, reserved: 0, remaining: 940 });
        expect(await store.grantQuota(id, token, thisMonth(), 40)).toEqual({ kind: 'granted', granted: 100, used: 60 });
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 60, reserved: 40, remaining: 900 });
      }),
    );

    test(
      'that the crawl itself holds unused is told of again when nothing is free: the answer to its last grant may have been lost',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running(30);
        await store.grantQuota(id, token, thisMonth(), 30);
        expect(await store.grantQuota(id, token, thisMonth(), 10)).toEqual({ kind: 'granted', granted: 30, used: 0 });
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ reserved: 30, remaining: 0 });
      }),
    );

    test(
      'that another crawl holds unused is waited for; when all of it is used there is none',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(50);
        const [one, other] = [await startAndClaim(store, someone), await startAndClaim(store, someone)];
        await store.grantQuota(one.id, one.token, thisMonth(), 50);
        expect(await store.grantQuota(other.id, other.token, thisMonth(), 10)).toEqual({ kind: 'wait' });
        const pages = seqs(0, 49);
        await store.commitPages(
          one.id,
          one.token,
          batchOf(1, { discovered: pages.map((seq) => discovered(seq)), results: pages.map((seq) => fetched(seq)) }),
        );
        expect(await store.grantQuota(other.id, other.token, thisMonth(), 10)).toEqual({ kind: 'exhausted' });
        expect(await store.grantQuota(one.id, one.token, thisMonth(), 10)).toEqual({ kind: 'exhausted' });
      }),
    );

    test(
      'that a finished crawl did not use is free for others, and what it used stays charged',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(50);
        const [one, other] = [await startAndClaim(store, someone), await startAndClaim(store, someone)];
        await store.grantQuota(one.id, one.token, thisMonth(), 50);
        await store.commitPages(one.id, one.token, batchOf(1, { discovered: [discovered(0)], results: [fetched(0)] }));
        answered(await store.finish(one.id, one.token, COMPLETED, 0));
        expect(await store.getUsage(someone.organizationId)).toMatchObject({ used: 1, reserved: 0, remaining: 49 });
        expect(await store.grantQuota(other.id, other.token, thisMonth(), 100)).toEqual({ kind: 'granted', granted: 49, used: 0 });
      }),
    );

    test(
      'is not granted to one who has lost the crawl or to a finished one, and nothing stays reserved',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running(50);
        expect(await store.grantQuota(id, newToken(), thisMonth(), 10)).toBe('lost');
        await store.finish(id, token, COMPLETED, 0);
        expect(await store.grantQuota(id, token, thisMonth(), 10)).toBe('lost');
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ reserved: 0, remaining: 50 });
      }),
    );

    test(
      'that a late grant races for with the end of its crawl never leaks',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(1_000);
        for (let times = 0; times < 5; times++) {
          const run = await startAndClaim(store, someone);
          const grants = Array.from({ length: 4 }, () => store.grantQuota(run.id, run.token, thisMonth(), 10));
          await Promise.all([...grants, store.finish(run.id, run.token, COMPLETED, 0)]);
        }
        expect(await store.getUsage(someone.organizationId)).toMatchObject({ used: 0, reserved: 0, remaining: 1_000 });
      }),
    );

    test(
      'that two crawls race for is never given out above the limit, and none of it is withheld',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(733);
        const runs = [await startAndClaim(store, someone), await startAndClaim(store, someone)];
        const granted = await Promise.all(runs.map((run) => grabAll(store, run, 40)));
        expect(granted.reduce((sum, pages) => sum + pages, 0)).toBe(733);
        expect(await store.getUsage(someone.organizationId)).toMatchObject({ used: 0, reserved: 733, remaining: 0 });
      }),
    );

    test(
      'is each month’s own: a page is charged to the month of its request, under that month’s grant',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running(100);
        expect(await store.grantQuota(id, token, OTHER_MONTH, 100)).toEqual({ kind: 'granted', granted: 100, used: 0 });
        expect(await store.grantQuota(id, token, thisMonth(), 80)).toEqual({ kind: 'granted', granted: 80, used: 0 });
        const pages = seqs(0, 4);
        const batch = { discovered: pages.map((seq) => discovered(seq)), results: pages.map((seq) => fetched(seq)) };
        await store.commitPages(id, token, batchOf(1, { ...batch, charges: { [OTHER_MONTH]: 3, [thisMonth()]: 2 } }));
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 2, reserved: 78, remaining: 20 });
        await store.release(id, token);
        const next = await claimNext(store);
        expect([...next.holds].sort((a, b) => (a.month < b.month ? -1 : 1))).toEqual([
          { month: OTHER_MONTH, granted: 100, used: 3 },
          { month: thisMonth(), granted: 80, used: 2 },
        ]);
        await store.finish(id, next.token, COMPLETED, 0);
        const { id: later, token: laterToken } = await startAndClaim(store, tenant);
        expect(await store.grantQuota(later, laterToken, OTHER_MONTH, 100)).toEqual({ kind: 'granted', granted: 97, used: 0 });
      }),
    );

    test(
      'lowered below what is used and held takes nothing back and grants nothing more; raised again it grants the rest',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running(500);
        await fetchPages(store, id, token, 60);
        await store.grantQuota(id, token, thisMonth(), 20);
        expect(await store.setMonthlyUrlQuota(tenant.organizationId, 10)).toMatchObject({ monthlyUrlQuota: 10 });
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ limit: 10, used: 60, reserved: 20, remaining: 0 });
        expect(await store.grantQuota(id, token, thisMonth(), 20)).toEqual({ kind: 'granted', granted: 80, used: 60 });
        const rest = seqs(60, 79);
        const batch = { discovered: rest.map((seq) => discovered(seq)), results: rest.map((seq) => fetched(seq)) };
        expect(answered(await store.commitPages(id, token, batchOf(3, batch))).counters.fetched).toBe(80);
        expect(await store.grantQuota(id, token, thisMonth(), 20)).toEqual({ kind: 'exhausted' });
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ limit: 10, used: 80, reserved: 0, remaining: 0 });
        await store.setMonthlyUrlQuota(tenant.organizationId, 85);
        expect(await store.grantQuota(id, token, thisMonth(), 20)).toEqual({ kind: 'granted', granted: 85, used: 80 });
      }),
    );
  });
}
