import { describe, expect, test } from 'vitest';
import type { Finding } from '#domain/finding.ts';
import type { StoreHarness } from './harness.ts';
import { batchOf, discovered, fetched, seqs } from './pages.ts';
import { answered, claimNext, inWorld, LEASE_MS, newToken, relayAll } from './world.ts';

export const COMPLETED = { endReason: 'completed', error: null } as const;
const UNREACHABLE = { endReason: 'seed_unreachable', error: 'Could not connect to example.com: the certificate has expired.' } as const;

export const finding = (ordinal: number, changes: Partial<Finding> = {}): Finding => ({
  ordinal,
  fingerprint: `f${ordinal}`,
  rule: 'title.missing',
  severity: 'high',
  pageSeq: ordinal,
  url: `https://example.com/page-${ordinal}`,
  evidence: { status: 404, title: '', first: true, none: null, urls: ['https://example.com/', 'https://example.com/b'] },
  ...changes,
});

export function analysisTests(harness: StoreHarness): void {
  describe('beginAnalysis', () => {
    test(
      'sets the phase and keeps the ending for whoever finishes; repeated it changes nothing',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, claim, tenant } = await running();
        const begun = answered(await store.beginAnalysis(id, token, UNREACHABLE));
        expect(begun).toMatchObject({ state: 'running', phase: 'analyzing', endReason: null, error: null, findingsCount: null });
        expect(begun.version).toBeGreaterThan(claim.snapshot.version);
        expect(await store.beginAnalysis(id, token, UNREACHABLE)).toEqual(begun);
        await store.release(id, token);
        const next = await claimNext(store);
        expect(next.ending).toEqual(UNREACHABLE);
        expect(await store.beginAnalysis(id, next.token, COMPLETED)).toEqual(begun);
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(begun);
        await relayAll(store);
        const events = await store.listEvents(tenant.organizationId, 0, 10);
        expect(events.map((event) => event.type)).toEqual(['crawl.started', 'crawl.analyzing']);
      }),
    );

    test(
      'is followed by pages read with their links, in steps',
      inWorld(harness, async ({ store, fetching }) => {
        const { id, token } = await fetching();
        const pages = seqs(0, 6);
        const results = pages.map((seq) => fetched(seq, { links: [0, 3], otherLinks: [`https://other.example/${seq}`] }));
        await store.commitPages(id, token, batchOf(1, { discovered: pages.map((seq) => discovered(seq)), results }));
        await store.beginAnalysis(id, token, COMPLETED);
        const first = answered(await store.readPages(id, token, -1, 4));
        const rest = answered(await store.readPages(id, token, 3, 4));
        expect([...first, ...rest].map(({ seq, links, otherLinks }) => ({ seq, links, otherLinks }))).toEqual(
          pages.map((seq) => ({ seq, links: [0, 3], otherLinks: [`https://other.example/${seq}`] })),
        );
        expect(first).toHaveLength(4);
        expect(answered(await store.readPagesBySeq(id, token, seqs(0, 999)))).toHaveLength(7);
      }),
    );
  });

  describe('findings', () => {
    test(
      'are unseen until the crawl is final, then listed by ordinal with every field',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running();
        await store.beginAnalysis(id, token, COMPLETED);
        const found = [finding(0), finding(1, { pageSeq: null, url: null, evidence: {} }), finding(2)];
        expect(await store.addFindings(id, token, [finding(2)])).toBe('stored');
        expect(await store.addFindings(id, token, found.slice(0, 2))).toBe('stored');
        expect(await store.listFindings(tenant.organizationId, id, { limit: 10 })).toEqual([]);
        answered(await store.finish(id, token, COMPLETED, 3));
        expect(await store.listFindings(tenant.organizationId, id, { limit: 10 })).toEqual(found);
      }),
    );

    test(
      'are listed by severity, rule and place',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running();
        const all = seqs(0, 9).map((ordinal) =>
          finding(ordinal, {
            severity: ordinal % 2 === 0 ? 'high' : 'low',
            rule: ordinal % 3 === 0 ? 'link.broken_internal' : 'title.missing',
          }),
        );
        await store.addFindings(id, token, all);
        await store.finish(id, token, COMPLETED, all.length);
        const list = async (query: object) =>
          (await store.listFindings(tenant.organizationId, id, { limit: 100, ...query }))?.map((each) => each.ordinal);
        expect(await list({ severity: 'low' })).toEqual([1, 3, 5, 7, 9]);
        expect(await list({ rule: 'link.broken_internal' })).toEqual([0, 3, 6, 9]);
        expect(await list({ rule: 'link.broken_internal', severity: 'low', afterOrdinal: 3 })).toEqual([9]);
        expect(await list({ afterOrdinal: 3, limit: 2 })).toEqual([4, 5]);
      }),
    );

    test(
      'added twice are there once',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running();
        const found = seqs(0, 499).map((ordinal) => finding(ordinal));
        await Promise.all([store.addFindings(id, token, found), store.addFindings(id, token, found)]);
        await store.finish(id, token, COMPLETED, found.length);
        expect(await store.listFindings(tenant.organizationId, id, { limit: 1_000 })).toEqual(found);
      }),
    );

    test(
      'of a run that lost the crawl are not among those of the run that finished it',
      inWorld(harness, async ({ store, running, ageLeases }) => {
        const { id, token, tenant } = await running();
        await store.beginAnalysis(id, token, COMPLETED);
        await store.addFindings(id, token, [finding(0), finding(1, { rule: 'stale' }), finding(2, { rule: 'stale' })]);
        await ageLeases(LEASE_MS + 1);
        await store.reapLeases();
        const next = await claimNext(store);
        expect(await store.addFindings(id, token, [finding(3)])).toBe('lost');
        await store.addFindings(id, next.token, [finding(0, { rule: 'fresh' }), finding(1, { rule: 'fresh' })]);
        expect(await store.finish(id, token, COMPLETED, 3)).toBe('lost');
        expect(answered(await store.finish(id, next.token, COMPLETED, 2)).findingsCount).toBe(2);
        const listed = await store.listFindings(tenant.organizationId, id, { limit: 10 });
        expect(listed?.map(({ ordinal, rule }) => [ordinal, rule])).toEqual([
          [0, 'fresh'],
          [1, 'fresh'],
        ]);
      }),
    );
  });

  describe('finish', () => {
    test(
      'ends a crawl done, with a measured zero',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running();
        const begun = answered(await store.beginAnalysis(id, token, COMPLETED));
        const final = answered(await store.finish(id, token, COMPLETED, 0));
        expect(final).toEqual({
          ...begun,
          state: 'done',
          phase: 'finished',
          endReason: 'completed',
          findingsCount: 0,
          finishedAt: final.finishedAt,
          version: final.version,
        });
        expect(final.version).toBeGreaterThan(begun.version);
        expect(final.finishedAt).toBeGreaterThanOrEqual(final.startedAt);
        expect(final.finishedAt).toBeLessThanOrEqual(await store.now());
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(final);
      }),
    );

    test(
      'ends a crawl failed, with its sentence, analysed or not',
      inWorld(harness, async ({ store, running }) => {
        const { id, token } = await running();
        const failed = { state: 'failed', phase: 'finished', ...UNREACHABLE, findingsCount: null };
        expect(await store.finish(id, token, UNREACHABLE, null)).toMatchObject(failed);
        const other = await running();
        expect(await store.finish(other.id, other.token, { endReason: 'time_limit', error: 'Too long.' }, 4)).toMatchObject({
          state: 'failed',
          endReason: 'time_limit',
          error: 'Too long.',
          findingsCount: 4,
        });
      }),
    );

    test(
      'happens once: a second call, and everything after it, is lost, and the crawl is claimed no more',
      inWorld(harness, async ({ store, running }) => {
        const { id, token, tenant } = await running();
        const outcomes = await Promise.all(Array.from({ length: 5 }, () => store.finish(id, token, COMPLETED, 0)));
        expect(outcomes.filter((outcome) => outcome !== 'lost')).toHaveLength(1);
        const final = await store.getCrawl(tenant.organizationId, id);
        expect(await store.finish(id, token, UNREACHABLE, null)).toBe('lost');
        await store.release(id, token);
        expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
        expect(await store.getCrawl(tenant.organizationId, id)).toEqual(final);
        await relayAll(store);
        const events = await store.listEvents(tenant.organizationId, 0, 10);
        expect(events.map((event) => event.type)).toEqual(['crawl.started', 'crawl.done']);
      }),
    );
  });
}
