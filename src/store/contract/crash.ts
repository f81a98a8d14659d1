import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import type { Fault, FaultyStore, OpenStore, StoreHarness } from './harness.ts';
import { EXPECTED_CHARGES, EXPECTED_PAGES, type Life, live, newLife, observe } from './life.ts';
import { allPages, expectCountersOf, seqs } from './pages.ts';
import { answered, LEASE_MS } from './world.ts';

/** What holds at any instant, whatever was cut: nothing went back, and what is charged is what is fetched. */
async function expectConsistent(store: Store, life: Life): Promise<void> {
  const crawls = await store.listCrawls({ organizationId: life.organizationId, limit: 10 });
  for (const crawl of crawls) observe(life, crawl);
  if ((await store.findOrganization(life.organizationId)) === null) return;
  const { limit, used, reserved, remaining } = answered(await store.getUsage(life.organizationId));
  const deleted = life.calls.has('third') && crawls.every((crawl) => crawl.id !== life.third);
  const charged = crawls.reduce((sum, crawl) => sum + crawl.counters.fetched, deleted ? EXPECTED_CHARGES.third : 0);
  expect(used).toBe(charged);
  expect(reserved).toBeGreaterThanOrEqual(0);
  expect(remaining).toBe(limit - used - reserved);
}

/** What holds when everything has come to its end: as if nothing had been cut, but for one slot of the ring. */
async function expectWhole(store: Store, life: Life, first: CrawlId): Promise<void> {
  const { organizationId, second, third } = life;
  const done = answered(await store.getCrawl(organizationId, first));
  expect(done).toMatchObject({ state: 'done', phase: 'finished', endReason: 'completed', error: null, findingsCount: 3 });
  const pages = await allPages(store, organizationId, first, 4);
  expect(Object.fromEntries(pages.map((page) => [new URL(page.url).pathname.slice(1), page.status]))).toEqual(EXPECTED_PAGES);
  expectCountersOf(done, pages);
  expect(pages.map((page) => page.seq)).toEqual(seqs(0, pages.length - 1));

  const findings = answered(await store.listFindings(organizationId, first, { limit: 100 }));
  expect(findings.map((each) => each.ordinal)).toEqual([0, 1, 2]);
  expect(new Set(findings.map((each) => each.evidence.run)).size).toBe(1);

  expect(await store.getCrawl(organizationId, second)).toMatchObject({ state: 'failed', endReason: 'cancelled' });
  expect(await store.getCrawl(organizationId, third)).toBeNull();
  expect(await store.countCrawls(organizationId, {}, 10)).toBe(2);
  expect(await store.getUsage(organizationId)).toMatchObject({ used: EXPECTED_CHARGES.first + EXPECTED_CHARGES.third, reserved: 0 });
  const slots = 10 - (await store.getStartAllowance(life.keyId)).remaining;
  expect([3, 4]).toContain(slots);

  const events = await store.listEvents(organizationId, 0, 100);
  expect(events.map((event) => event.seq)).toEqual(seqs(1, 7));
  const typesOf = (id: CrawlId) => events.filter((event) => event.crawlId === id).map((event) => event.type);
  expect(typesOf(first)).toEqual(['crawl.started', 'crawl.analyzing', 'crawl.done']);
  expect(typesOf(second)).toEqual(['crawl.started', 'crawl.failed']);
  expect(typesOf(third)).toEqual(['crawl.started', 'crawl.failed']);
}

async function resume({ store, ageLeases }: OpenStore, life: Life): Promise<void> {
  await expectConsistent(store, life);
  await ageLeases(LEASE_MS + 1);
  await store.reapLeases();
  const first = await live(store, life);
  await expectConsistent(store, life);
  await expectWhole(store, life, first);
}

/** Lives until the cut; answers what the call under way was rejected with, or null when there was no cut. */
async function liveUntilCut(faulty: FaultyStore, life: Life): Promise<unknown> {
  try {
    await live(faulty.store, life);
    return null;
  } catch (error) {
    return error;
  }
}

/** Lives until the cut, then on the reopened store to the end. Answers whether there was a cut. */
async function cutAndResume(harness: StoreHarness, fault: Fault): Promise<boolean> {
  const faulty = await harness.openFaulty(fault);
  const life = newLife();
  const rejection = await liveUntilCut(faulty, life);
  const cut = faulty.wasCut();
  const reopened = await faulty.reopen();
  try {
    if (rejection !== null && !(cut && rejection instanceof Refusal && rejection.code === 'unavailable')) throw rejection;
    await resume(reopened, life);
  } catch (error) {
    throw new Error(`cut after write ${fault.cutAfter}, its reply ${fault.reply}: ${error}`, { cause: error });
  } finally {
    await reopened.close();
  }
  return rejection !== null;
}

export function crashTests(harness: StoreHarness): void {
  describe('a store that is cut', () => {
    test.each(['kept', 'lost'] as const)(
      'after any write, its reply %s, is resumed to the same end',
      async (reply) => {
        let cuts = 0;
        for (let cutAfter = reply === 'kept' ? 0 : 1; await cutAndResume(harness, { cutAfter, reply }); cutAfter++) cuts++;
        expect(cuts).toBeGreaterThan(30);
      },
      300_000,
    );
  });
}
