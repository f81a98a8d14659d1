import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { allPages, batchOf, discovered, expectCountersOf, fetched, thisMonth, wholeFrontier } from '../contract/pages.ts';
import { answered, claimNext, createTenant, LEASE_MS } from '../contract/world.ts';
import { databaseOf } from './database.ts';
import { silent, urlOf } from './fixtures/harness.ts';
import { withServer } from './fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from './open.ts';
import { createPageWrites } from './page-writes.ts';

const COMPLETED = { endReason: 'completed', error: null } as const;
const FIRST = batchOf(1, { discovered: [discovered(0), discovered(1)] });
const SECOND = batchOf(2, { discovered: [discovered(2)], results: [fetched(0), fetched(1)] });

withServer('the redo record of a MongoDB store', (url, admin) => {
  /** A crawl of two committed batches, under its token. */
  async function committed(body: (world: Awaited<ReturnType<typeof twoBatches>>) => Promise<void>): Promise<void> {
    const name = `crawlgate-${randomUUID()}`;
    const store = await openMongoStore({ url: urlOf(url, name), log: silent, settings: DEFAULT_MONGO_SETTINGS });
    try {
      await body(await twoBatches(store, name));
    } finally {
      await store.close();
      await admin.db(name).dropDatabase();
    }
  }

  async function twoBatches(store: Awaited<ReturnType<typeof openMongoStore>>, name: string) {
    const tenant = await createTenant(store);
    const { id } = await tenant.start();
    const { token } = await claimNext(store, LEASE_MS);
    await store.grantQuota(id, token, thisMonth(), 10);
    await store.commitPages(id, token, FIRST);
    const snapshot = answered(await store.commitPages(id, token, SECOND));
    return { store, tenant, id, token, snapshot, database: databaseOf(admin.db(name)) };
  }

  test('changes nothing when a worker that was paused brings its batch in late, after others', () =>
    committed(async ({ store, id, token, snapshot, database }) => {
      const before = await wholeFrontier(store, id, token);
      const pages = createPageWrites(database);
      for (const batch of [FIRST, SECOND, FIRST]) await pages.apply(id, { token, ...batch });
      expect(await wholeFrontier(store, id, token)).toEqual(before);
      expectCountersOf(snapshot, before);
    }));

  test('gives the next worker the pages that the last one had committed and not brought in', () =>
    committed(async ({ store, id, token, snapshot, database }) => {
      await database.pages.deleteMany({ crawl: id, seq: 2 });
      await database.pages.updateMany({ crawl: id }, { $set: { status: 'queued' } });
      await store.release(id, token);
      const next = await claimNext(store, LEASE_MS);
      expect(await database.pages.countDocuments({ crawl: id, status: 'fetched' })).toBe(2);
      expectCountersOf(snapshot, await wholeFrontier(store, id, next.token));
    }));

  test('is brought in by the end of the crawl, so that the pages of a final one are exact', () =>
    committed(async ({ store, tenant, id, token, database }) => {
      await database.pages.deleteMany({ crawl: id, seq: 2 });
      const final = answered(await store.finish(id, token, COMPLETED, 0));
      expectCountersOf(final, await allPages(store, tenant.organizationId, id));
    }));
});
