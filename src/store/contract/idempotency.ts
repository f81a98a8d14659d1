import { describe, expect, test } from 'vitest';
import type { CreateCrawlOutcome, NewCrawl } from '#store/store.ts';
import { COMPLETED } from './analysis.ts';
import type { StoreHarness } from './harness.ts';
import { fetchPages } from './pages.ts';
import { answered, claimNext, inWorld, newCrawl, type Tenant } from './world.ts';

const HOUR = 60 * 60 * 1_000;

const asking = (tenant: Pick<Tenant, 'organizationId' | 'keyId'>, key: string, requestHash = 'hash of the body'): NewCrawl =>
  newCrawl(tenant, { idempotency: { key, requestHash } });

function snapshotOf(outcome: CreateCrawlOutcome) {
  if (outcome.kind !== 'created' && outcome.kind !== 'replayed') throw new Error(outcome.kind);
  return outcome.snapshot;
}

export function idempotencyTests(harness: StoreHarness): void {
  describe('an idempotency key', () => {
    test(
      'with the same request answers the crawl it made, as it is now, and takes no slot',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const first = snapshotOf(await store.createCrawl(asking(someone, 'k')));
        const { token } = await claimNext(store);
        const begun = await store.beginAnalysis(first.id, token, COMPLETED);
        const outcome = await store.createCrawl(asking(someone, 'k'));
        expect(outcome).toMatchObject({ kind: 'replayed', starts: { remaining: 9 } });
        expect(snapshotOf(outcome)).toEqual(begun);
        expect(await store.countCrawls(someone.organizationId, {}, 10)).toBe(1);
      }),
    );

    test(
      'with another request is a mismatch and takes no slot',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        await store.createCrawl(asking(someone, 'k'));
        const outcome = await store.createCrawl(asking(someone, 'k', 'another hash'));
        expect(outcome).toEqual({ kind: 'mismatch', starts: { remaining: 9, resetMs: expect.any(Number) } });
        expect(await store.countCrawls(someone.organizationId, {}, 10)).toBe(1);
      }),
    );

    test(
      'is the organization’s own, and is shared by its keys',
      inWorld(harness, async ({ store, tenant }) => {
        const [one, other] = [await tenant(), await tenant()];
        const first = snapshotOf(await store.createCrawl(asking(one, 'k')));
        expect(await store.createCrawl(asking(other, 'k'))).toMatchObject({ kind: 'created' });
        const sibling = { ...one, keyId: await one.newKey() };
        const replayed = await store.createCrawl(asking(sibling, 'k'));
        expect(replayed).toMatchObject({ kind: 'replayed', starts: { remaining: 10 } });
        expect(snapshotOf(replayed).id).toBe(first.id);
      }),
    );

    test(
      'used twenty times at once makes one crawl of one slot, which all are answered',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => store.createCrawl(asking(someone, 'k'))));
        expect(new Set(outcomes.map((outcome) => snapshotOf(outcome).id)).size).toBe(1);
        expect(outcomes.filter((outcome) => outcome.kind === 'created')).toHaveLength(1);
        expect((await store.getStartAllowance(someone.keyId)).remaining).toBe(9);
        expect(await store.countCrawls(someone.organizationId, {}, 10)).toBe(1);
      }),
    );

    test(
      'is asked before the quota and the ring: a replay is answered when both are used up',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(20);
        const first = snapshotOf(await store.createCrawl(asking(someone, 'k')));
        for (let index = 0; index < 9; index++) await store.createCrawl(newCrawl(someone));
        await fetchPages(store, first.id, (await claimNext(store)).token, 20);
        expect(await store.createCrawl(asking(someone, 'k'))).toMatchObject({ kind: 'replayed', starts: { remaining: 0 } });
        expect(await store.createCrawl(asking(someone, 'k', 'another hash'))).toMatchObject({ kind: 'mismatch' });
        expect(await store.createCrawl(asking(someone, 'new'))).toMatchObject({ kind: 'quota_exceeded' });
        await store.setMonthlyUrlQuota(someone.organizationId, 21);
        expect(await store.createCrawl(asking(someone, 'new'))).toMatchObject({ kind: 'rate_limited' });
      }),
    );

    test(
      'of a start that was refused is free: asked again when there is room, it makes a crawl',
      inWorld(harness, async ({ store, tenant, ageStarts }) => {
        const someone = await tenant();
        for (let index = 0; index < 10; index++) await store.createCrawl(newCrawl(someone));
        expect(await store.createCrawl(asking(someone, 'k'))).toMatchObject({ kind: 'rate_limited' });
        await ageStarts(someone.keyId, 60_000);
        expect(await store.createCrawl(asking(someone, 'k'))).toMatchObject({ kind: 'created' });
        expect(await store.createCrawl(asking(someone, 'k'))).toMatchObject({ kind: 'replayed' });
      }),
    );

    test(
      'is kept for its time and then swept',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const someone = await tenant();
        const retention = { crawlsMs: 90 * 24 * HOUR, idempotencyMs: 24 * HOUR };
        await store.createCrawl(asking(someone, 'k'));
        await ageRecords(23 * HOUR);
        expect(await store.sweep(retention)).toBe(0);
        expect(await store.createCrawl(asking(someone, 'k'))).toMatchObject({ kind: 'replayed' });
        await ageRecords(HOUR + 1);
        expect(await store.sweep(retention)).toBe(1);
        expect(await store.createCrawl(asking(someone, 'k'))).toMatchObject({ kind: 'created' });
      }),
    );

    test(
      'of a crawl that was deleted makes another one',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const first = snapshotOf(await store.createCrawl(asking(someone, 'k')));
        answered(await store.cancelCrawl(someone.organizationId, first.id));
        expect(await store.deleteCrawl(someone.organizationId, first.id)).toBe('deleted');
        const again = await store.createCrawl(asking(someone, 'k'));
        expect(again.kind).toBe('created');
        expect(snapshotOf(again).id).not.toBe(first.id);
      }),
    );
  });
}
