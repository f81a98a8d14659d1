import { describe, expect, test } from 'vitest';
import { siteIdOf } from '#domain/ids.ts';
import { monthOf, resetsAt } from '#domain/quota.ts';
import type { CreateCrawlOutcome, Store } from '#store/store.ts';
import type { StoreHarness } from './harness.ts';
import { fetchPages } from './pages.ts';
import { claimNext, inWorld, newCrawl, newCrawlId, type Tenant } from './world.ts';

const startMany = (store: Store, tenant: Tenant, count: number): Promise<CreateCrawlOutcome[]> =>
  Promise.all(Array.from({ length: count }, () => store.createCrawl(newCrawl(tenant))));

const kinds = (outcomes: readonly CreateCrawlOutcome[], kind: CreateCrawlOutcome['kind']): number =>
  outcomes.filter((outcome) => outcome.kind === kind).length;

export function startTests(harness: StoreHarness): void {
  describe('createCrawl', () => {
    test(
      'answers the new crawl as it will be read, running and queued at version 1',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId, keyId } = await tenant();
        const before = await store.now();
        const crawl = newCrawl({ organizationId, keyId }, { url: 'http://example.com:8080/a', authority: 'example.com:8080', maxUrls: 7 });
        const outcome = await store.createCrawl(crawl);
        if (outcome.kind !== 'created') throw new Error(outcome.kind);
        expect(outcome.snapshot).toEqual({
          id: crawl.id,
          organizationId,
          siteId: siteIdOf(organizationId, 'example.com:8080'),
          url: 'http://example.com:8080/a',
          host: 'example.com',
          authority: 'example.com:8080',
          state: 'running',
          phase: 'queued',
          endReason: null,
          error: null,
          maxUrls: 7,
          maxDepth: 3,
          counters: { discovered: 0, fetched: 0, redirected: 0, failed: 0, blocked: 0 },
          frontierTruncated: false,
          findingsCount: null,
          cancelRequested: false,
          startedAt: outcome.snapshot.startedAt,
          finishedAt: null,
          version: 1,
        });
        expect(outcome.snapshot.startedAt).toBeGreaterThanOrEqual(before);
        expect(outcome.snapshot.startedAt).toBeLessThanOrEqual(await store.now());
        expect(await store.getCrawl(organizationId, crawl.id)).toEqual(outcome.snapshot);
      }),
    );

    test(
      'called again with the same id, answers the same crawl as replayed and takes no second slot',
      inWorld(harness, async ({ store, tenant }) => {
        const crawl = newCrawl(await tenant());
        const first = await store.createCrawl(crawl);
        const second = await store.createCrawl(crawl);
        expect(first).toMatchObject({ kind: 'created', starts: { remaining: 9 } });
        expect(second).toMatchObject({ kind: 'replayed', starts: { remaining: 9 } });
        if (first.kind !== 'created' || second.kind !== 'replayed') throw new Error('unreachable');
        expect(second.snapshot).toEqual(first.snapshot);
      }),
    );

    test(
      'called twenty times at once with the same id, makes one crawl of one slot',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const crawl = newCrawl(someone);
        const outcomes = await Promise.all(Array.from({ length: 20 }, () => store.createCrawl(crawl)));
        expect(kinds(outcomes, 'created')).toBe(1);
        expect(kinds(outcomes, 'replayed')).toBe(19);
        expect((await store.getStartAllowance(someone.keyId)).remaining).toBe(9);
        expect(await store.countCrawls(someone.organizationId, {}, 10)).toBe(1);
      }),
    );

    test(
      'makes the site at the first crawl of it and moves its last time with later ones',
      inWorld(harness, async ({ store, tenant, ageRecords }) => {
        const someone = await tenant();
        const first = await someone.start();
        const made = await store.getSites(someone.organizationId, [first.siteId]);
        expect(made).toEqual([
          {
            id: first.siteId,
            organizationId: someone.organizationId,
            host: 'example.com',
            authority: 'example.com',
            firstCrawledAt: first.startedAt,
            lastCrawledAt: first.startedAt,
          },
        ]);
        await ageRecords(1_000);
        const second = await someone.start();
        expect(second.siteId).toBe(first.siteId);
        const [site] = await store.getSites(someone.organizationId, [first.siteId]);
        expect(site?.lastCrawledAt).toBe(second.startedAt);
        expect(site?.firstCrawledAt).toBeLessThan(second.startedAt);
      }),
    );
  });

  describe('the ring of starts', () => {
    test(
      'is whole for a key that has started nothing',
      inWorld(harness, async ({ store, tenant }) => {
        expect(await store.getStartAllowance((await tenant()).keyId)).toEqual({ remaining: 10, resetMs: 0 });
      }),
    );

    test(
      'accepts exactly ten of a hundred starts that one key makes at once',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const outcomes = await startMany(store, someone, 100);
        expect(kinds(outcomes, 'created')).toBe(10);
        expect(kinds(outcomes, 'rate_limited')).toBe(90);
        expect(await store.countCrawls(someone.organizationId, {}, 100)).toBe(10);
      }),
    );

    test(
      'tells the eleventh start when it would be accepted: a minute after the first, by the time that the first crawl shows',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        const first = await someone.start({ keyId: someone.keyId });
        await startMany(store, someone, 9);
        const before = await store.now();
        const refused = await store.createCrawl(newCrawl(someone));
        const after = await store.now();
        if (refused.kind !== 'rate_limited') throw new Error(refused.kind);
        expect(refused.retryAfterMs).toBeLessThanOrEqual(first.startedAt + 60_000 - before);
        expect(refused.retryAfterMs).toBeGreaterThanOrEqual(first.startedAt + 60_000 - after);
        expect(refused.starts.remaining).toBe(0);
      }),
    );

    test(
      'gives a slot back a minute after it was taken, not before',
      inWorld(harness, async ({ store, tenant, ageStarts }) => {
        const someone = await tenant();
        await startMany(store, someone, 10);
        await ageStarts(someone.keyId, 30_000);
        expect(await store.createCrawl(newCrawl(someone))).toMatchObject({ kind: 'rate_limited' });
        await ageStarts(someone.keyId, 30_000);
        expect(kinds(await startMany(store, someone, 12), 'created')).toBe(10);
      }),
    );

    test(
      'slides: five starts now and five half a minute later leave five after the first minute',
      inWorld(harness, async ({ store, tenant, ageStarts }) => {
        const someone = await tenant();
        await startMany(store, someone, 5);
        await ageStarts(someone.keyId, 30_000);
        await startMany(store, someone, 5);
        await ageStarts(someone.keyId, 30_000);
        expect((await store.getStartAllowance(someone.keyId)).remaining).toBe(5);
        expect(kinds(await startMany(store, someone, 10), 'created')).toBe(5);
      }),
    );

    test(
      'is each key’s own',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant();
        await startMany(store, someone, 11);
        const other = { ...someone, keyId: await someone.newKey() };
        expect(await store.createCrawl(newCrawl(other))).toMatchObject({ kind: 'created', starts: { remaining: 9 } });
      }),
    );
  });

  describe('the quota at the start', () => {
    test(
      'refuses a start when the month is used up, before the ring is asked, and takes no slot',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(20);
        const { id } = await someone.start();
        await fetchPages(store, id, (await claimNext(store)).token, 20);
        const refused = await store.createCrawl(newCrawl(someone));
        expect(refused).toMatchObject({ kind: 'quota_exceeded', starts: { remaining: 10 } });
        if (refused.kind !== 'quota_exceeded') throw new Error('unreachable');
        expect(refused.resetsAt).toBe(resetsAt(monthOf(await store.now())));

        await store.setMonthlyUrlQuota(someone.organizationId, 21);
        await startMany(store, someone, 10);
        await store.setMonthlyUrlQuota(someone.organizationId, 20);
        expect(await store.createCrawl(newCrawl(someone))).toMatchObject({ kind: 'quota_exceeded', starts: { remaining: 0 } });
      }),
    );

    test(
      'counts only what is used: pages that a running crawl holds do not refuse a start',
      inWorld(harness, async ({ store, tenant }) => {
        const someone = await tenant(20);
        const { id } = await someone.start();
        const { token } = await claimNext(store);
        await store.grantQuota(id, token, monthOf(await store.now()), 20);
        expect(await store.createCrawl(newCrawl(someone, { id: newCrawlId() }))).toMatchObject({ kind: 'created' });
      }),
    );
  });
}
