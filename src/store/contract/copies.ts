import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CrawlId, KeyId, OrganizationId } from '#domain/ids.ts';
import { COPY_KEYS, COPY_KINDS, type CopyKind, type CopyOwner } from '#store/copy-store.ts';
import { COMPLETED, finding } from './analysis.ts';
import { copyOver, everythingOf, type Filled, fill, repeated } from './filled.ts';
import type { StoreHarness } from './harness.ts';
import { allPages, batchOf, expectCountersOf, fetched, seqs, thisMonth, wholeFrontier } from './pages.ts';
import { answered, claimNext, hashOf, inWorld, LEASE_MS, newKey, relayAll, type World } from './world.ts';

const sizeOf = (everything: Record<string, unknown[]>, kind: string): number =>
  Object.entries(everything).reduce((sum, [name, records]) => sum + (name.split(' ')[0] === kind ? records.length : 0), 0);

export function copyTests(harness: StoreHarness): void {
  /** A test with two stores: the first with a filled organization in it, the second empty. */
  const between = (body: (from: World, to: World, filled: Filled) => Promise<void>): (() => Promise<void>) =>
    inWorld(harness, async (from) => {
      const filled = await fill(from.store);
      await inWorld(harness, (to) => body(from, to, filled))();
    });
  /** The same, with the organization copied over. */
  const copied = (body: (to: World, filled: Filled, from: World) => Promise<void>): (() => Promise<void>) =>
    between(async (from, to, filled) => {
      await copyOver(from.store, to.store, filled.tenant);
      await body(to, filled, from);
    });

  describe('copies', () => {
    test(
      'are everything of an organization, in steps of any size, and the same in the store that they were inserted into',
      between(async ({ store: from }, { store: to }, { tenant, pages }) => {
        const { tenant: other } = await fill(from);
        const everything = await everythingOf(from, tenant);
        expect(sizeOf(everything, 'page')).toBe(pages);
        expect(await everythingOf(from, tenant, 1)).toEqual(everything);
        await copyOver(from, to, tenant);
        expect(await everythingOf(to, tenant)).toEqual(everything);
        expect(await everythingOf(to, tenant, 1)).toEqual(everything);
        expect(Object.values(await everythingOf(to, other)).flat()).toEqual([]);
      }),
    );

    test(
      'are counted alike in both stores: as many as were read, and as were stored',
      between(async ({ store: from }, { store: to }, { tenant }) => {
        const { organizationId } = tenant;
        const everything = await everythingOf(from, tenant);
        for (const kind of COPY_KINDS) expect([kind, await to.countCopies(kind, organizationId)]).toEqual([kind, 0]);
        expect(await copyOver(from, to, tenant)).toBe(COPY_KINDS.reduce((sum, kind) => sum + sizeOf(everything, kind), 0));
        for (const kind of COPY_KINDS) {
          expect(sizeOf(everything, kind)).toBeGreaterThan(0);
          for (const store of [from, to])
            expect([kind, await store.countCopies(kind, organizationId)]).toEqual([kind, sizeOf(everything, kind)]);
        }
      }),
    );

    test(
      'that are there are left alone, whatever those that are inserted contain',
      copied(async ({ store: to }, { tenant, done }, { store: from }) => {
        const everything = await everythingOf(to, tenant);
        expect(await copyOver(from, to, tenant)).toBe(0);
        const owner = { organizationId: tenant.organizationId, crawlId: done };
        const changed = async <Kind extends CopyKind>(kind: Kind, change: object): Promise<void> => {
          const records = await from.readCopies(kind, owner as CopyOwner<Kind>, null, 100);
          const others = records.map((record) => ({ ...record, ...change }));
          expect(await to.insertCopies(kind, owner as CopyOwner<Kind>, others)).toBe(0);
          const found = await to.findCopies(kind, owner as CopyOwner<Kind>, others);
          expect(new Set(found.map(COPY_KEYS[kind]))).toEqual(new Set(records.map(COPY_KEYS[kind])));
          for (const record of records) expect(found).toContainEqual(record);
        };
        await changed('organization', { monthlyUrlQuota: 1 });
        await changed('usage', { used: 1 });
        await changed('site', { host: 'other.example' });
        await changed('page', { depth: 9 });
        await changed('finding', { rule: 'other' });
        await changed('crawl', { version: 99 });
        await changed('idempotency', { requestHash: 'other' });
        await changed('event', { at: 1 });
        await changed('startRing', { next: 5 });
        await changed('key', { name: 'other' });
        expect(await everythingOf(to, tenant)).toEqual(everything);
      }),
    );

    test(
      'that take a name, a secret or a URL which belongs to another record are not stored',
      copied(async ({ store: to }, { tenant: { organizationId }, done }) => {
        const owner = { organizationId, crawlId: done };
        const other = { organizationId: randomUUID() as OrganizationId };
        const everything = await everythingOf(to, owner);
        const [organization] = await to.readCopies('organization', owner, null, 1);
        const [key] = await to.readCopies('key', owner, null, 1);
        const [page] = await to.readCopies('page', owner, null, 1);
        const [event] = await to.readCopies('event', owner, null, 1);
        if (!organization || !key || !page || !event) throw new Error('not everything is there');
        expect(await to.insertCopies('organization', other, [{ ...organization, id: other.organizationId }])).toBe(0);
        expect(await to.insertCopies('organization', owner, [{ ...organization, name: 'renamed' }])).toBe(0);
        expect(await to.insertCopies('key', owner, [{ ...key, id: randomUUID() as KeyId }])).toBe(0);
        expect(await to.insertCopies('page', owner, [{ ...page, seq: 999 }])).toBe(0);
        expect(await to.insertCopies('event', owner, [{ ...event, seq: 999 }])).toBe(0);
        expect(await everythingOf(to, owner)).toEqual(everything);
        expect(await to.findOrganization('renamed')).toBeNull();
      }),
    );

    test(
      'of pages and findings are seen by nobody before their crawl is there',
      between(async ({ store: from }, { store: to }, { tenant: { organizationId }, running, done }) => {
        for (const kind of ['organization', 'usage'] as const)
          await to.insertCopies(kind, { organizationId }, (await from.readCopies(kind, { organizationId }, null, 100)) as never);
        for (const crawlId of [running, done]) {
          const owner = { organizationId, crawlId };
          await to.insertCopies('page', owner, await from.readCopies('page', owner, null, 100));
          await to.insertCopies('finding', owner, await from.readCopies('finding', owner, null, 100));
          expect(await to.readCopies('page', owner, null, 100)).toEqual(await from.readCopies('page', owner, null, 100));
          expect(await to.readCopies('finding', owner, null, 100)).toEqual(await from.readCopies('finding', owner, null, 100));
          // A copy that was cut here is gone on with: what is there is what was inserted.
          expect(await to.readCopies('usage', owner, null, 100)).toEqual(await from.readCopies('usage', owner, null, 100));
          expect(await to.getCrawl(organizationId, crawlId)).toBeNull();
          expect(await to.listPages(organizationId, crawlId, { limit: 10 })).toBeNull();
          expect(await to.listFindings(organizationId, crawlId, { limit: 10 })).toBeNull();
        }
        expect(await to.claim(randomUUID() as never, LEASE_MS)).toBeNull();
        expect(await to.countCopies('page', organizationId)).toBe(0);
        const crawls = await from.readCopies('crawl', { organizationId }, null, 100);
        await to.insertCopies('crawl', { organizationId }, crawls);
        for (const { id, counters } of crawls) expect(await allPages(to, organizationId, id)).toHaveLength(counters.discovered);
        expect(await to.listFindings(organizationId, done, { limit: 10 })).toHaveLength(3);
      }),
    );

    test(
      'of a running crawl are gone on with: its frontier, its batches, its grants and its events',
      copied(async ({ store }, { tenant: { organizationId }, running }) => {
        expect(await store.getUsage(organizationId)).toMatchObject({ used: 42, reserved: 10 });
        const events = await store.listEvents(organizationId, 0, 100);
        const { snapshot, token, batch, holds, ending } = await claimNext(store, LEASE_MS);
        expect({ id: snapshot.id, batch, holds, ending }).toEqual({
          id: running,
          batch: 2,
          holds: [{ month: thisMonth(), granted: 50, used: 40 }],
          ending: null,
        });
        const frontier = await wholeFrontier(store, running, token);
        expect(frontier.filter(({ status }) => status === 'queued').map(({ seq }) => seq)).toEqual(seqs(40, 59));
        expect(await store.grantQuota(running, token, thisMonth(), 10)).toEqual({ kind: 'granted', granted: 60, used: 40 });
        answered(await store.commitPages(running, token, batchOf(3, { results: seqs(40, 59).map((seq) => fetched(seq)) })));
        answered(await store.beginAnalysis(running, token, COMPLETED));
        await store.addFindings(running, token, [finding(0)]);
        const ended = answered(await store.finish(running, token, COMPLETED, 1));
        expectCountersOf(ended, await allPages(store, organizationId, running));
        expect(ended.counters.fetched).toBe(60);
        expect(await store.getUsage(organizationId)).toMatchObject({ used: 62, reserved: 0 });
        expect(await store.listFindings(organizationId, running, { limit: 10 })).toEqual([finding(0)]);
        expect(await relayAll(store)).toBe(2);
        const later = await store.listEvents(organizationId, events.at(-1)?.seq ?? 0, 100);
        expect(later.map(({ seq, type }) => [seq, type])).toEqual([
          [events.length + 1, 'crawl.analyzing'],
          [events.length + 2, 'crawl.done'],
        ]);
      }),
    );

    test(
      'of a crawl that is being analysed leave out what that run has found, and keep how the fetching ended',
      between(async ({ store: from }, { store: to }, { tenant, running, token }) => {
        answered(await from.beginAnalysis(running, token, COMPLETED));
        await from.addFindings(running, token, [finding(0), finding(1)]);
        await relayAll(from);
        expect(await from.countCopies('finding', tenant.organizationId)).toBe(3);
        await copyOver(from, to, tenant);
        const claim = await claimNext(to, LEASE_MS);
        expect(claim).toMatchObject({ snapshot: { id: running, phase: 'analyzing' }, ending: COMPLETED });
        await to.addFindings(running, claim.token, [finding(0)]);
        answered(await to.finish(running, claim.token, COMPLETED, 1));
        expect(await to.listFindings(tenant.organizationId, running, { limit: 10 })).toEqual([finding(0)]);
      }),
    );

    test(
      'of keys are good or revoked as they were, with the starts that each has made',
      copied(async ({ store }, { tenant: { organizationId }, secret, revokedKey }, { store: from }) => {
        const keys = await store.listKeys(organizationId);
        expect(keys).toHaveLength((await from.listKeys(organizationId)).length);
        for (const key of await from.listKeys(organizationId)) expect(keys).toContainEqual(key);
        const key = await store.findKeyBySecret(hashOf(secret));
        expect(key).toMatchObject({ organizationId, revokedAt: null });
        expect(await store.findKey(revokedKey)).toMatchObject({ revokedAt: expect.any(Number) });
        expect(await store.rotateKey(revokedKey, newKey(organizationId))).toBeNull();
        expect(await store.getStartAllowance(key?.id as KeyId)).toMatchObject({ remaining: 9 });
      }),
    );

    test(
      'of idempotency keys answer the crawl that they started; a key is free again when its crawl was removed',
      copied(async ({ store }, filled) => {
        const { organizationId } = filled.tenant;
        expect(await store.createCrawl(repeated(filled))).toMatchObject({ kind: 'replayed', snapshot: { id: filled.done } });
        const another = { ...repeated(filled), idempotency: { key: 'again', requestHash: 'another' } };
        expect(await store.createCrawl(another)).toMatchObject({ kind: 'mismatch' });
        const removed = { ...repeated(filled), idempotency: { key: 'of a removed one', requestHash: 'another' } };
        expect(await store.createCrawl(removed)).toMatchObject({ kind: 'created' });
        expect(await store.deleteCrawl(organizationId, filled.done)).toBe('deleted');
        expect(await store.createCrawl({ ...another, id: randomUUID() as CrawlId })).toMatchObject({ kind: 'created' });
      }),
    );

    test(
      'of a log go on with its numbers, also when its events were swept',
      between(async ({ store: from, ageRecords }, { store: to }, { tenant }) => {
        const last = (await from.listEvents(tenant.organizationId, 0, 100)).at(-1)?.seq ?? 0;
        await ageRecords(10_000);
        while ((await from.sweep({ crawlsMs: 5_000, idempotencyMs: 5_000 })) > 0);
        expect(await from.listEvents(tenant.organizationId, 0, 100)).toEqual([]);
        await copyOver(from, to, tenant);
        const owner = { organizationId: tenant.organizationId };
        expect(await to.readCopies('organization', owner, null, 1)).toMatchObject([{ lastEventSeq: last }]);
        const [key] = await to.listKeys(tenant.organizationId);
        await to.createCrawl({ ...repeated({ tenant } as Filled), keyId: key?.id as KeyId });
        await relayAll(to);
        expect(await to.listEvents(tenant.organizationId, 0, 100)).toMatchObject([{ seq: last + 1 }]);
      }),
    );

    test(
      'leave leases behind: those that are live are counted, and go out',
      copied(async (to, _, from) => {
        expect(await from.store.countLiveLeases()).toBe(1);
        expect(await to.store.countLiveLeases()).toBe(0);
        await from.ageLeases(LEASE_MS + 1);
        expect(await from.store.countLiveLeases()).toBe(0);
      }),
    );
  });
}
