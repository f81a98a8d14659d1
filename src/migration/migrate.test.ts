import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { OrganizationId } from '#domain/ids.ts';
import { everythingOf, fill, repeated } from '#store/contract/filled.ts';
import type { OpenStore, StoreHarness } from '#store/contract/harness.ts';
import { claimNext, createTenant, newKey } from '#store/contract/world.ts';
import { COPY_KINDS, type CopyKind } from '#store/copy-store.ts';
import { mongoHarness } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { sqliteHarness } from '#store/sqlite/fixtures/harness.ts';
import type { Store } from '#store/store.ts';
import { MigrationRefused } from './copy-records.ts';
import type { KindCount, Totals } from './counts.ts';
import { createMigrate, type MigrationOptions } from './migrate.ts';

type Told = { totals: Totals | null; readonly added: Record<CopyKind, number>; readonly leftOut: string[] };

/** Migrates; what was told of its progress goes to `told`. */
function migrate(from: Store, to: Store, some: Partial<MigrationOptions> = {}, told?: Told): Promise<KindCount[]> {
  const progress = {
    leaveOut(name: string) {
      told?.leftOut.push(name);
    },
    begin(totals: Totals) {
      if (told !== undefined) told.totals = totals;
    },
    add(kind: CopyKind, records: number) {
      if (told !== undefined) told.added[kind] += records;
    },
  };
  return createMigrate({ from, to })({ organization: null, progress, signal: new AbortController().signal, ...some });
}
const newTold = (): Told => ({
  leftOut: [],
  totals: null,
  added: Object.fromEntries(COPY_KINDS.map((kind) => [kind, 0])) as Record<CopyKind, number>,
});

const expectEqual = (counts: readonly KindCount[]): void => {
  expect(counts.map(({ kind }) => kind)).toEqual(COPY_KINDS);
  for (const count of counts) expect(count).toMatchObject({ target: count.source, different: [] });
};

/** A test with an open store of each harness, closed afterwards whatever happens. */
const between =
  (source: StoreHarness, target: StoreHarness, body: (from: OpenStore, to: OpenStore) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const from = await source.open();
    try {
      const to = await target.open();
      try {
        await body(from, to);
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
  };

function migrationTests(name: string, source: StoreHarness, target: StoreHarness): void {
  describe(`a migration from ${name}`, () => {
    test(
      'copies every organization whole, tells of each record once, and counts both stores',
      between(source, target, async ({ store: from }, { store: to }) => {
        const tenants = [(await fill(from)).tenant, (await fill(from)).tenant, await createTenant(from)];
        const told = newTold();
        const counts = await migrate(from, to, {}, told);
        expectEqual(counts);
        expect(told.totals).toEqual(Object.fromEntries(counts.map((count) => [count.kind, count.source])));
        expect(told.added).toEqual(told.totals);
        for (const tenant of tenants) expect(await everythingOf(to, tenant)).toEqual(await everythingOf(from, tenant));
        expect(await to.listOrganizations()).toHaveLength(3);
      }),
    );

    test(
      'changes nothing when it is repeated, and tells the same',
      between(source, target, async ({ store: from }, { store: to }) => {
        const { tenant } = await fill(from);
        const [first, second] = [newTold(), newTold()];
        await migrate(from, to, {}, first);
        const everything = await everythingOf(to, tenant);
        expectEqual(await migrate(from, to, {}, second));
        expect(second).toEqual(first);
        expect(await everythingOf(to, tenant)).toEqual(everything);
      }),
    );

    test(
      'takes along events that were not relayed yet',
      between(source, target, async ({ store: from }, { store: to }) => {
        const { tenant } = await fill(from);
        await tenant.start();
        const before = await from.listEvents(tenant.organizationId, 0, 100);
        expectEqual(await migrate(from, to));
        const events = await to.listEvents(tenant.organizationId, 0, 100);
        expect(events).toHaveLength(before.length + 1);
        expect(events.at(-1)).toMatchObject({ type: 'crawl.started', seq: before.length + 1 });
      }),
    );

    test('that is cut at any write of the target, its reply lost, is completed by the next one', async () => {
      const from = await source.open();
      try {
        const { tenant } = await fill(from.store);
        let cuts = 0;
        for (let cutAfter = 1; ; cutAfter++) {
          const faulty = await target.openFaulty({ cutAfter, reply: 'lost' });
          const failed = await migrate(from.store, faulty.store).then(
            () => null,
            (error: unknown) => error,
          );
          const wasCut = faulty.wasCut();
          const reopened = await faulty.reopen();
          try {
            if (failed !== null) expect(failed).toMatchObject({ code: 'unavailable' });
            if (wasCut) cuts++;
            expectEqual(await migrate(from.store, reopened.store));
            expect(await everythingOf(reopened.store, tenant)).toEqual(await everythingOf(from.store, tenant));
          } finally {
            await reopened.close();
          }
          if (!wasCut) break;
        }
        expect(cuts).toBeGreaterThan(7);
      } finally {
        await from.close();
      }
    }, 120_000);
  });
}

migrationTests('SQLite to SQLite', sqliteHarness, sqliteHarness);
withServer('migrations with MongoDB', (url, admin) => {
  const mongo = mongoHarness(url, admin);
  migrationTests('SQLite to MongoDB', sqliteHarness, mongo);
  migrationTests('MongoDB to SQLite', mongo, sqliteHarness);
});

describe('a migration', () => {
  const inStores = (body: (from: OpenStore, to: OpenStore) => Promise<void>) => between(sqliteHarness, sqliteHarness, body);
  const refusal = async (migration: Promise<unknown>): Promise<string> => {
    const error: unknown = await migration.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(MigrationRefused);
    const { message } = error as MigrationRefused;
    expect(message).not.toContain('\n');
    return message;
  };

  test(
    'of one organization, by name or id, leaves the others where they are',
    inStores(async ({ store: from }, { store: to }) => {
      const [{ tenant: first }, { tenant: second }] = [await fill(from), await fill(from)];
      const name = (await from.findOrganization(first.organizationId))?.name ?? '';
      expectEqual(await migrate(from, to, { organization: name }));
      expect((await to.listOrganizations()).map(({ id }) => id)).toEqual([first.organizationId]);
      expectEqual(await migrate(from, to, { organization: second.organizationId }));
      expect(await everythingOf(to, first)).toEqual(await everythingOf(from, first));
      expect(await everythingOf(to, second)).toEqual(await everythingOf(from, second));
    }),
  );

  test(
    'is refused when the source has no such organization, or none at all',
    inStores(async ({ store: from }, { store: to }) => {
      expect(await refusal(migrate(from, to))).toContain('the source has no organizations');
      await createTenant(from);
      expect(await refusal(migrate(from, to, { organization: 'nobody' }))).toBe('the source has no organization "nobody"');
    }),
  );

  test(
    'leaves an organization out whose removal has begun, and says so; asked for that one it is refused',
    inStores(async ({ store: from }, { store: to }) => {
      const { tenant } = await fill(from);
      const { tenant: stays } = await fill(from);
      const name = (await from.findOrganization(tenant.organizationId))?.name ?? '';
      await from.beginOrganizationRemoval(tenant.organizationId);
      const told = newTold();
      expectEqual(await migrate(from, to, {}, told));
      expect(told.leftOut).toEqual([name]);
      expect((await to.listOrganizations()).map(({ id }) => id)).toEqual([stays.organizationId]);
      expect(Object.values(await everythingOf(to, tenant)).flat()).toEqual([]);
      for (const organization of [name, tenant.organizationId])
        expect(await refusal(migrate(from, to, { organization }))).toBe(`the organization "${organization}" is being removed`);
    }),
  );

  test(
    'into a store that is removing the organization is refused before anything is written',
    inStores(async ({ store: from }, { store: to }) => {
      const { tenant } = await fill(from);
      await migrate(from, to);
      await to.beginOrganizationRemoval(tenant.organizationId);
      expect(await refusal(migrate(from, to))).toContain('the target is removing an organization');
      while ((await to.continueOrganizationRemoval(tenant.organizationId)) > 0);
      expectEqual(await migrate(from, to));
    }),
  );

  test(
    'into a store on which a server has made the same organization is refused before anything is written',
    inStores(async ({ store: from }, { store: to }) => {
      const id = '00000000-0000-4000-8000-000000000001' as OrganizationId;
      const key = newKey(id);
      await fill(from);
      for (const store of [from, to]) {
        await store.ensureDefaults({ id, name: 'default', monthlyUrlQuota: 5 }, { ...key, ...newKey(id), id: key.id });
        await new Promise((resolve) => setTimeout(resolve, 2)); // created at another time
      }
      const before = await everythingOf(to, { organizationId: id });
      const message = await refusal(migrate(from, to));
      expect(message).toMatch(new RegExp(`^the target has the organization ${id} with other content \\(createdAt\\)`));
      expect(await to.listOrganizations()).toHaveLength(1);
      expect(await everythingOf(to, { organizationId: id })).toEqual(before);
    }),
  );

  test(
    'into a store where the name belongs to another organization is refused before anything is written',
    inStores(async ({ store: from }, { store: to }) => {
      await from.createOrganization({ id: randomUUID() as OrganizationId, name: 'acme', monthlyUrlQuota: 1 });
      await fill(from);
      await to.createOrganization({ id: randomUUID() as OrganizationId, name: 'acme', monthlyUrlQuota: 1 });
      expect(await refusal(migrate(from, to))).toContain('the target has another organization "acme"');
      expect(await to.listOrganizations()).toHaveLength(1);
    }),
  );

  test(
    'overwrites nothing in a store that has gone on with a crawl: it names the crawl, and what differs',
    inStores(async ({ store: from }, { store: to }) => {
      const { tenant, running } = await fill(from);
      await migrate(from, to);
      const { token } = await claimNext(to);
      await to.cancelCrawl(tenant.organizationId, running);
      await to.release(running, token);
      const before = await everythingOf(to, tenant);
      const message = await refusal(migrate(from, to));
      expect(message).toContain(`the target has the crawl ${running} with other content (cancelRequested, version, changedAt)`);
      expect(await everythingOf(to, tenant)).toEqual(before);
    }),
  );

  test(
    'shows no secret of a key that differs',
    inStores(async ({ store: from }, { store: to }) => {
      const filled = await fill(from);
      await migrate(from, to);
      const [key] = await to.listKeys(filled.tenant.organizationId);
      const secret = newKey(filled.tenant.organizationId);
      await to.rotateKey(key?.id as never, secret);
      const message = await refusal(migrate(from, to));
      expect(message).toContain('(secretHash, prefix)');
      expect(message).not.toContain(secret.secretHash);
    }),
  );

  test(
    'that is stopped by its signal has copied what it told of, and is completed by the next one',
    inStores(async ({ store: from }, { store: to }) => {
      const filled = await fill(from);
      const stop = new AbortController();
      const told = newTold();
      const progress = {
        leaveOut() {},
        begin() {},
        add(kind: CopyKind, records: number) {
          told.added[kind] += records;
          if (kind === 'crawl') stop.abort(new Error('stopped'));
        },
      };
      await expect(migrate(from, to, { progress, signal: stop.signal })).rejects.toThrow('stopped');
      expect(await to.countCopies('crawl', filled.tenant.organizationId)).toBe(told.added.crawl);
      expect(await to.countCopies('key', filled.tenant.organizationId)).toBe(0);
      expectEqual(await migrate(from, to));
      expect(await to.createCrawl(repeated(filled))).toMatchObject({ kind: 'replayed', snapshot: { id: filled.done } });
    }),
  );

  test(
    'tells which organization has another count: here one in which a crawl was started meanwhile',
    inStores(async ({ store: from }, { store: to }) => {
      const { tenant } = await fill(from);
      await createTenant(from);
      const name = (await from.findOrganization(tenant.organizationId))?.name;
      // The organization has been copied: now it is counted.
      let copied = false;
      const meddled: Store = {
        ...from,
        async countCopies(kind, organizationId) {
          if (copied && organizationId === tenant.organizationId && kind === 'organization') await tenant.start();
          return from.countCopies(kind, organizationId);
        },
      };
      const progress = {
        leaveOut() {},
        begin() {},
        add(kind: CopyKind) {
          if (kind === 'key') copied = true;
        },
      };
      const counts = await migrate(meddled, to, { progress });
      expect(counts.find(({ kind }) => kind === 'crawl')).toMatchObject({ source: 4, target: 3, different: [name] });
    }),
  );
});
