import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { COMPLETED, finding } from '../contract/analysis.ts';
import { copyOver, everythingOf, fill } from '../contract/filled.ts';
import { discovered, seqs } from '../contract/pages.ts';
import { answered, relayAll } from '../contract/world.ts';
import { silent, urlOf } from './fixtures/harness.ts';
import { withServer } from './fixtures/with-server.ts';
import { DEFAULT_MONGO_SETTINGS, openMongoStore } from './open.ts';

withServer('copies of what a crash has left half applied on MongoDB', (url, admin) => {
  async function inStore(
    body: (parts: { store: Awaited<ReturnType<typeof openMongoStore>>; db: ReturnType<typeof admin.db> }) => Promise<void>,
  ) {
    const name = `crawlgate-${randomUUID()}`;
    const store = await openMongoStore({ url: urlOf(url, name), log: silent, settings: DEFAULT_MONGO_SETTINGS });
    try {
      await body({ store, db: admin.db(name) });
    } finally {
      await store.close();
      await admin.db(name).dropDatabase();
    }
  }

  test('have the pages of the last commit', () =>
    inStore(async ({ store, db }) => {
      const { tenant, running } = await fill(store);
      const whole = await everythingOf(store, tenant);
      // As if the worker had died between the commit point and the pages: its results are not there yet.
      const pages = db.collection('pages');
      const applied = await pages.find({ crawl: running, status: 'fetched' }).toArray();
      expect(applied.map(({ seq }) => seq)).toEqual(seqs(0, 39));
      for (const { _id, seq, url: address, urlHash } of applied) {
        const { seq: _, ...page } = discovered(Number(seq));
        await pages.replaceOne({ _id }, { crawl: running, seq, ...page, url: address, urlHash });
      }
      expect(await store.countCopies('page', tenant.organizationId)).toBe(65);
      expect(await everythingOf(store, tenant)).toEqual(whole);
    }));

  test('have the quota that the end of a crawl gave back, and the findings of its run alone', () =>
    inStore(async ({ store, db }) => {
      const { tenant, running, token } = await fill(store);
      answered(await store.beginAnalysis(running, token, COMPLETED));
      await store.addFindings(running, token, [finding(0)]);
      const usage = db.collection('usage');
      const before = await usage.findOne({});
      answered(await store.finish(running, token, COMPLETED, 1));
      await relayAll(store);
      const whole = await everythingOf(store, tenant);
      // As if the worker had died between the commit point of the end and what follows it.
      await usage.replaceOne({ _id: before?._id as never }, { ...before, _id: before?._id as never });
      await db.collection('findings').insertOne({ ...finding(7), crawl: running, run: randomUUID() });
      await db.collection('crawls').updateOne({ _id: running as never }, { $set: { unsettled: true } });
      await inStore(async ({ store: to }) => {
        await copyOver(store, to, tenant);
        expect(await everythingOf(to, tenant)).toEqual(whole);
        expect(await to.getUsage(tenant.organizationId)).toMatchObject({ used: 42, reserved: 0 });
        expect(await to.countCopies('finding', tenant.organizationId)).toBe(4);
      });
      expect(await everythingOf(store, tenant)).toEqual(whole);
      expect(await store.countCopies('finding', tenant.organizationId)).toBe(4);
    }));
});
