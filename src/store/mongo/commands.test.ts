import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { batchOf, discovered, fetched, seqs, thisMonth } from '../contract/pages.ts';
import { claimNext, createTenant, LEASE_MS } from '../contract/world.ts';
import type { Store } from '../store.ts';
import { databaseOf } from './database.ts';
import { urlOf } from './fixtures/harness.ts';
import { withServer } from './fixtures/with-server.ts';
import { createOperations } from './operations.ts';
import { prepareSchema } from './schema.ts';

withServer('the commands that MongoDB is sent', (url) => {
  const client = new MongoClient(urlOf(url, `crawlgate-${randomUUID()}`), { monitorCommands: true });
  const database = databaseOf(client.db());
  const store = { ...createOperations(database), ping: async () => {}, close: async () => {} } satisfies Store;
  const sent: string[] = [];
  client.on('commandStarted', ({ commandName }) => sent.push(commandName));

  async function commandsOf(call: () => Promise<unknown>): Promise<string[]> {
    sent.length = 0;
    await call();
    return [...sent];
  }

  beforeAll(() => prepareSchema(database));
  afterAll(async () => {
    await client.db().dropDatabase();
    await client.close();
  });

  test('are one for a crawl, for a list of crawls, for sites and for many snapshots', async () => {
    const { organizationId, start } = await createTenant(store);
    const { id, siteId, startedAt } = await start();
    expect(await commandsOf(() => store.getCrawl(organizationId, id))).toEqual(['find']);
    expect(await commandsOf(() => store.listCrawls({ organizationId, limit: 50 }))).toEqual(['find']);
    const page = { organizationId, siteId, state: 'running', after: { startedAt: startedAt + 1, id }, limit: 50 } as const;
    expect(await commandsOf(() => store.listCrawls(page))).toEqual(['find']);
    expect(await commandsOf(() => store.getSnapshots([id]))).toEqual(['find']);
    expect(await commandsOf(() => store.listSites({ organizationId, limit: 50 }))).toEqual(['find']);
    await store.cancelCrawl(organizationId, id);
  });

  test('are two for a batch of a hundred pages', async () => {
    const { start } = await createTenant(store);
    await start();
    const { snapshot, token } = await claimNext(store, LEASE_MS);
    await store.grantQuota(snapshot.id, token, thisMonth(), 100);
    const pages = seqs(0, 49);
    const batch = batchOf(1, { discovered: pages.map((seq) => discovered(seq)), results: pages.map((seq) => fetched(seq)) });
    expect(await commandsOf(() => store.commitPages(snapshot.id, token, batch))).toEqual(['findAndModify', 'update']);
  });

  test('are two for a heartbeat, and one to authenticate', async () => {
    const { start } = await createTenant(store);
    await start();
    const { snapshot, token } = await claimNext(store, LEASE_MS);
    expect(await commandsOf(() => store.heartbeat(snapshot.id, token, LEASE_MS))).toEqual(['findAndModify', 'aggregate']);
    expect(await commandsOf(() => store.findKeyBySecret('x'))).toEqual(['find']);
  });
});
