import { describe, expect, test } from 'vitest';
import { COMPLETED } from './analysis.ts';
import type { StoreHarness } from './harness.ts';
import { seqs } from './pages.ts';
import { answered, claimNext, inWorld, LEASE_MS, relayAll } from './world.ts';

export function eventTests(harness: StoreHarness): void {
  describe('events', () => {
    test(
      'of a crawl reach its organization’s log in order, each with the crawl as it was then',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const started = await someone.start();
        const { token } = await claimNext(store);
        const analyzing = answered(await store.beginAnalysis(started.id, token, COMPLETED));
        const done = answered(await store.finish(started.id, token, COMPLETED, 2));
        expect(await store.listEvents(someone.organizationId, 0, 10)).toEqual([]);
        expect(await relayAll(store)).toBe(3);
        const events = await store.listEvents(someone.organizationId, 0, 10);
        const common = { organizationId: someone.organizationId, crawlId: started.id, at: expect.any(Number) };
        expect(events).toEqual([
          { ...common, seq: 1, key: `${started.id}:crawl.started`, type: 'crawl.started', snapshot: started },
          { ...common, seq: 2, key: `${started.id}:crawl.analyzing`, type: 'crawl.analyzing', snapshot: analyzing },
          { ...common, seq: 3, key: `${started.id}:crawl.done`, type: 'crawl.done', snapshot: done },
        ]);
        expect(events[0]?.at).toBe(started.startedAt);
        expect(events[2]?.at).toBe(done.finishedAt);
        expect(await relayAll(store)).toBe(0);
      }),
    );

    test(
      'of a crawl that failed, was cancelled or lost its workers are crawl.failed',
      inWorld(harness, async ({ store, running, tenant, ageLeases }) => {
        const failed = await running();
        await store.finish(failed.id, failed.token, { endReason: 'internal_error', error: 'A defect.' }, null);
        const someone = await tenant();
        const cancelled = await someone.start();
        await store.cancelCrawl(someone.organizationId, cancelled.id);
        const lost = await running();
        for (let losses = 0; losses < 5; losses++) {
          await ageLeases(LEASE_MS + 1);
          if ((await store.reapLeases()).length === 0) await claimNext(store);
        }
        await relayAll(store);
        for (const organizationId of [failed.tenant.organizationId, someone.organizationId, lost.tenant.organizationId]) {
          const events = await store.listEvents(organizationId, 0, 10);
          expect(events.map((event) => event.type)).toEqual(['crawl.started', 'crawl.failed']);
          expect(events[1]?.snapshot).toEqual(await store.getCrawl(organizationId, events[1]?.crawlId as never));
        }
      }),
    );

    test(
      'are moved as many as asked for, and listed from a place on as many as asked for',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        for (let index = 0; index < 7; index++) await someone.start();
        expect(await store.relayEvents(5)).toBe(5);
        expect(await store.listEvents(someone.organizationId, 0, 100)).toHaveLength(5);
        expect(await store.relayEvents(5)).toBe(2);
        expect((await store.listEvents(someone.organizationId, 3, 2)).map((event) => event.seq)).toEqual([4, 5]);
        expect(await store.listEvents(someone.organizationId, 7, 10)).toEqual([]);
      }),
    );

    test(
      'that ten relays race for are each there once, without a gap, in each organization',
      inWorld(harness, async ({ store, tenant }) => {
        const tenants = [await tenant(), await tenant()];
        const ids = new Map<string, string[]>();
        for (const each of tenants) {
          const started = await Promise.all(Array.from({ length: 12 }, () => each.start()));
          ids.set(
            each.organizationId,
            started.map((crawl) => `${crawl.id}:crawl.started`),
          );
        }
        await Promise.all(Array.from({ length: 10 }, () => store.relayEvents(5)));
        await relayAll(store);
        for (const { organizationId } of tenants) {
          const events = await store.listEvents(organizationId, 0, 100);
          expect(events.map((event) => event.seq)).toEqual(seqs(1, 12));
          expect(events.map((event) => event.key).sort()).toEqual(ids.get(organizationId)?.sort());
        }
      }),
    );

    test(
      'of one crawl keep their order though relays race',
      inWorld(harness, async ({ store, running }) => {
        const { tenant, id, token } = await running();
        await store.beginAnalysis(id, token, COMPLETED);
        await store.finish(id, token, COMPLETED, 0);
        await Promise.all(Array.from({ length: 10 }, () => store.relayEvents(10)));
        await relayAll(store);
        const events = await store.listEvents(tenant.organizationId, 0, 10);
        expect(events.map(({ seq, type }) => [seq, type])).toEqual([
          [1, 'crawl.started'],
          [2, 'crawl.analyzing'],
          [3, 'crawl.done'],
        ]);
      }),
    );
  });
}
