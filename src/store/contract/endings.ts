import { describe, expect, test } from 'vitest';
import { CANCELLED_ERROR } from '#domain/lease.ts';
import { COMPLETED, finding } from './analysis.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, fetched, fetchPages } from './pages.ts';
import { answered, claimNext, inWorld, LEASE_MS, newCrawlId, newToken, relayAll } from './world.ts';

const CANCELLED = { endReason: 'cancelled', error: CANCELLED_ERROR } as const;

export function endingTests(harness: StoreHarness): void {
  describe('cancelCrawl', () => {
    test(
      'ends a crawl that no worker has begun at once',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const started = await someone.start();
        const ended = answered(await store.cancelCrawl(someone.organizationId, started.id));
        expect(ended).toMatchObject({ state: 'failed', phase: 'finished', ...CANCELLED, findingsCount: null });
        expect(ended.finishedAt).toBeGreaterThanOrEqual(started.startedAt);
        expect(ended.version).toBeGreaterThan(started.version);
        expect(await store.getCrawl(someone.organizationId, started.id)).toEqual(ended);
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        expect(await store.cancelCrawl(someone.organizationId, started.id)).toBe('final');
      }),
    );

    test(
      'of a crawl that a worker holds tells the worker, which ends it',
      inWorld(harness, async ({ store, fetching }) => {
        const { tenant, id, token, claim } = await fetching();
        const asked = answered(await store.cancelCrawl(tenant.organizationId, id));
        expect(asked).toMatchObject({ state: 'running', cancelRequested: true, endReason: null });
        expect(asked.version).toBeGreaterThan(claim.snapshot.version);
        expect(await store.heartbeat(id, token, LEASE_MS)).toMatchObject({ cancelRequested: true });
        const committed = await store.commitPages(id, token, batchOf(1, { discovered: [discovered(0)], results: [fetched(0)] }));
        expect(answered(committed).cancelRequested).toBe(true);
        expect(await store.finish(id, token, CANCELLED, 1)).toMatchObject({ state: 'failed', endReason: 'cancelled', findingsCount: 1 });
      }),
    );

    test(
      'repeated changes nothing',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id } = await running();
        const first = await store.cancelCrawl(tenant.organizationId, id);
        expect(await store.cancelCrawl(tenant.organizationId, id)).toEqual(first);
      }),
    );

    test(
      'of a crawl between two workers is told to the next one',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id, token } = await running();
        await store.commitPages(id, token, batchOf(1, { discovered: [discovered(0)] }));
        await store.release(id, token);
        expect(await store.cancelCrawl(tenant.organizationId, id)).toMatchObject({ state: 'running', cancelRequested: true });
        const next = await claimNext(store);
        expect(next.snapshot).toMatchObject({ id, cancelRequested: true });
      }),
    );

    test(
      'that races with a claim either ends the crawl or is told to the one who got it',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        for (let times = 0; times < 10; times++) {
          const { id } = await someone.start();
          const cancel = () => store.cancelCrawl(someone.organizationId, id);
          const cancelledFirst = times % 2 === 0 ? undefined : cancel();
          const claiming = store.claim(newToken(), LEASE_MS);
          const [claim] = await Promise.all([claiming, cancelledFirst ?? cancel()]);
          const stored = await store.getCrawl(someone.organizationId, id);
          if (claim === null) expect(stored).toMatchObject({ endReason: 'cancelled' });
          else {
            expect(stored).toMatchObject({ state: 'running', cancelRequested: true });
            await store.finish(id, claim.token, CANCELLED, null);
          }
        }
      }),
    );

    test(
      'answers null for a crawl that does not exist',
      inWorld(harness, async ({ store, tenant }) => {
        expect(await store.cancelCrawl((await tenant()).organizationId, newCrawlId())).toBeNull();
      }),
    );
  });

  describe('deleteCrawl', () => {
    test(
      'removes a final crawl with what belongs to it, and keeps its charge and its site',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id, token, claim } = await running();
        await fetchPages(store, id, token, 60);
        await store.addFindings(id, token, [finding(0)]);
        await store.finish(id, token, COMPLETED, 1);
        expect(await store.deleteCrawl(tenant.organizationId, id)).toBe('deleted');
        expect(await store.getCrawl(tenant.organizationId, id)).toBeNull();
        expect(await store.getSnapshots([id])).toEqual([]);
        expect(await store.listPages(tenant.organizationId, id, { limit: 10 })).toBeNull();
        expect(await store.listFindings(tenant.organizationId, id, { limit: 10 })).toBeNull();
        expect(await store.listCrawls({ organizationId: tenant.organizationId, limit: 10 })).toEqual([]);
        expect(await store.getUsage(tenant.organizationId)).toMatchObject({ used: 60, reserved: 0 });
        expect(await store.getSites(tenant.organizationId, [claim.snapshot.siteId])).toHaveLength(1);
        expect(await store.deleteCrawl(tenant.organizationId, id)).toBeNull();
      }),
    );

    test(
      'refuses a crawl that runs',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id, claim } = await running();
        expect(await store.deleteCrawl(tenant.organizationId, id)).toBe('not_final');
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(claim.snapshot);
      }),
    );

    test(
      'loses no event, also of those that were not relayed yet',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id, token } = await running();
        await store.relayEvents(10);
        await store.finish(id, token, COMPLETED, 0);
        await store.deleteCrawl(tenant.organizationId, id);
        await relayAll(store);
        const events = await store.listEvents(tenant.organizationId, 0, 10);
        expect(events.map(({ seq, type }) => [seq, type])).toEqual([
          [1, 'crawl.started'],
          [2, 'crawl.done'],
        ]);
      }),
    );
  });
}
