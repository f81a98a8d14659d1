import { randomUUID } from 'node:crypto';
import { type CommandStartedEvent, type Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CrawlId, OrganizationId, SiteId } from '#domain/ids.ts';
import { batchOf, discovered, fetched, seqs, thisMonth } from '../contract/pages.ts';
import { claimNext, createTenant, LEASE_MS, newToken, relayAll } from '../contract/world.ts';
import type { Store } from '../store.ts';
import { databaseOf } from './database.ts';
import { urlOf } from './fixtures/harness.ts';
import { withServer } from './fixtures/with-server.ts';
import { createOperations } from './operations.ts';
import { INDEXES, prepareSchema } from './schema.ts';

type Find = {
  readonly find: string;
  readonly filter: Document;
  readonly sort?: ReadonlyMap<string, number>;
  readonly limit?: number;
  readonly batchSize?: number;
};

/**
 * The indexes that give exactly what a find asks for, in its order: the fields that must be equal first, in any order, then those that
 * it is sorted by, and no sorting afterwards.
 */
function indexesFor({ find, filter, sort = new Map() }: Find): string[] {
  const order = [...sort.keys()];
  const equal = Object.keys(filter).filter((field) => !field.startsWith('$') && typeof filter[field] !== 'object');
  const indexes = Object.entries(INDEXES).find(([name]) => name === find)?.[1] ?? [];
  return indexes.flatMap(({ name = '', key }) => {
    const fields = Object.keys(key);
    const isFor = fields.slice(0, equal.length).toSorted().join() === equal.toSorted().join();
    return isFor && fields.slice(equal.length).join() === order.join() ? [name] : [];
  });
}

withServer('the commands that MongoDB is sent', (url) => {
  const client = new MongoClient(urlOf(url, `crawlgate-${randomUUID()}`), { monitorCommands: true });
  const database = databaseOf(client.db());
  const store = { ...createOperations(database), ping: async () => {}, close: async () => {} } satisfies Store;
  const sent: CommandStartedEvent[] = [];
  client.on('commandStarted', (event) => sent.push(event));

  async function commandsOf(call: () => Promise<unknown>): Promise<string[]> {
    sent.length = 0;
    await call();
    return sent.map(({ commandName }) => commandName);
  }

  /** The one find that a call sends. */
  async function findOf(call: () => Promise<unknown>): Promise<Find> {
    expect(await commandsOf(call)).toEqual(['find']);
    return sent[0]?.command as Find;
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

  test('ask by id alone for the versions of crawls, for nothing else of them, and for all in the first batch', async () => {
    const crawls = Array.from({ length: 250 }, () => ({ organizationId: randomUUID() as OrganizationId, id: randomUUID() as CrawlId }));
    const find = await findOf(() => store.getVersions(crawls));
    expect(find).toMatchObject({ filter: { _id: { $in: crawls.map(({ id }) => id) } }, projection: { organizationId: 1, version: 1 } });
    expect(Object.keys(find.filter)).toEqual(['_id']);
    expect(find.batchSize).toBeGreaterThan(crawls.length);
  });

  test('ask for a whole list in the first batch, which a server else ends at 101', async () => {
    const { organizationId, start } = await createTenant(store);
    const { id } = await start();
    const list = { organizationId, limit: 200 };
    for (const call of [
      () => store.listCrawls(list),
      () => store.listSites(list),
      () => store.listEvents(organizationId, 0, 200),
      () => store.getSnapshots(Array.from({ length: 200 }, () => id)),
      () =>
        store.getSites(
          organizationId,
          Array.from({ length: 200 }, () => randomUUID() as SiteId),
        ),
    ])
      expect(await findOf(call)).toMatchObject({ limit: 200, batchSize: 201 });
    await store.listPages(organizationId, id, { limit: 200 });
    expect(sent.at(-1)?.command).toMatchObject({ find: 'pages', limit: 200, batchSize: 201 });
    await store.cancelCrawl(organizationId, id);
  });

  test('ask one index each for a list of crawls, whatever it is filtered by and wherever it begins', async () => {
    const organizationId = randomUUID() as OrganizationId;
    const place = { startedAt: 1, id: randomUUID() as CrawlId };
    const found: string[] = [];
    for (const state of [undefined, 'running', 'done'] as const)
      for (const which of [{}, { siteId: randomUUID() as SiteId }, { host: 'example.com' }])
        for (const from of [{}, { after: place }, { before: place }]) {
          const list = { organizationId, limit: 50, ...which, ...from, ...(state !== undefined && { state }) };
          const indexes = indexesFor(await findOf(() => store.listCrawls(list)));
          expect(indexes, JSON.stringify(list)).toHaveLength(1);
          found.push(...indexes);
        }
    expect(new Set(found).size).toBe(6);
    // by the index that every collection has
    const byId = await findOf(() => store.getCrawl(organizationId, place.id));
    expect(byId.filter).toEqual({ _id: place.id, organizationId });
    expect(indexesFor(await findOf(() => store.listSites({ organizationId, limit: 50 })))).toEqual(['organizationId_authority']);
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

  test('are one for a worker that looks for a crawl where none waits, however many run: a seek in an index', async () => {
    const { start } = await createTenant(store);
    for (let running = 0; running < 3; running++) {
      await start();
      await claimNext(store, LEASE_MS);
    }
    const idle = await findOf(() => store.claim(newToken(), LEASE_MS));
    expect(idle).toMatchObject({ filter: { state: 'running', 'lease.token': { $in: [null, expect.any(String)] } } });
    // two values of the index's second field, in its order
    expect([...(idle.sort ?? [])]).toEqual([['lease.token', -1]]);
    expect(INDEXES.crawls?.map(({ key }) => Object.keys(key).slice(0, 2))).toContainEqual(['state', 'lease.token']);
  });

  test('are three to claim a crawl where one organization’s wait, which is looked at, and one more to find whose turn it is where several do', async () => {
    const [one, other] = [await createTenant(store), await createTenant(store)];
    const ofTheSite = ['update', 'aggregate'];
    for (let starts = 0; starts < 2; starts++) await one.start();
    expect(await commandsOf(() => claimNext(store, LEASE_MS))).toEqual(['find', 'find', 'findAndModify', ...ofTheSite]);
    await other.start();
    expect(await commandsOf(() => claimNext(store, LEASE_MS))).toEqual(['find', 'aggregate', 'find', 'findAndModify', ...ofTheSite]);
    for (let starts = 0; starts < 10; starts++) await one.start();
    const many = await commandsOf(() => claimNext(store, LEASE_MS));
    expect(many).toEqual(['find', 'aggregate', 'find', 'find', 'findAndModify', ...ofTheSite]);
    for (let starts = 0; starts < 10; starts++) await claimNext(store, LEASE_MS);
  });

  test('are a read each second for a process that does not lead, and two for the one that does', async () => {
    await store.acquireLeadership('one', LEASE_MS);
    expect(await commandsOf(() => store.acquireLeadership('one', LEASE_MS))).toEqual(['aggregate', 'update']);
    expect(await commandsOf(() => store.acquireLeadership('other', LEASE_MS))).toEqual(['aggregate']);
    expect(await commandsOf(() => store.reapLeases())).toEqual(['find', 'find']);
    await relayAll(store);
    expect(await commandsOf(() => store.relayEvents(500))).toEqual(['find']);
  });

  test('are two for a heartbeat, and one to authenticate', async () => {
    const { start } = await createTenant(store);
    await start();
    const { snapshot, token } = await claimNext(store, LEASE_MS);
    expect(await commandsOf(() => store.heartbeat(snapshot.id, token, LEASE_MS))).toEqual(['findAndModify', 'aggregate']);
    expect(await commandsOf(() => store.findKeyBySecret('x'))).toEqual(['aggregate']);
  });
});
