import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { systemTimers } from '#worker/timers.ts';
import { countingStore, withGraphql } from '../fixtures/graphql.ts';
import { run } from '../fixtures/run.ts';
import { connected } from '../fixtures/socket.ts';

const WATCH = 'subscription ($id: ID) { crawlUpdated(id: $id) { id state version urlsCrawled } }';

describe('crawlUpdated(id) over WebSocket', () => {
  it('gives the stored state at once, newer ones as they come, the final one, and completes', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const client = await connected(graphql.port, graphql.tenant.secret);
      const operation = client.subscribe(WATCH, { id });
      expect(await client.values(operation, 1)).toEqual([{ id, state: 'RUNNING', version: 1, urlsCrawled: 0 }]);
      const crawl = await run(graphql);
      await crawl.commit();
      expect((await client.values(operation, 2)).at(-1)).toMatchObject({ version: 2 });
      const { version } = await crawl.finish();
      expect(await client.ended(operation)).toEqual({ id: operation, type: 'complete' });
      expect((await client.values(operation, 3)).at(-1)).toEqual({ id, state: 'DONE', version, urlsCrawled: 0 });
      client.close();
    }));

  it('of a crawl that has ended gives one value and completes', () =>
    withGraphql(async ({ start, finish, port, tenant }) => {
      await start();
      const id = await finish();
      const client = await connected(port, tenant.secret);
      const operation = client.subscribe(WATCH, { id: id.toUpperCase() });
      expect((await client.ended(operation)).type).toBe('complete');
      expect(client.of(operation).map(({ type }) => type)).toEqual(['next', 'complete']);
      client.close();
    }));

  it('of an unknown crawl, one of another organization or what is no id is the error not_found', () =>
    withGraphql(async ({ start, newTenant, port, tenant }) => {
      const foreign = await start({}, { secret: (await newTenant()).secret });
      const client = await connected(port, tenant.secret);
      const told = await Promise.all([foreign, randomUUID(), 'nonsense', ''].map((id) => client.ended(client.subscribe(WATCH, { id }))));
      for (const { type, payload } of told) {
        expect(type).toBe('error');
        expect(payload).toMatchObject([{ path: ['crawlUpdated'], extensions: { code: 'not_found' } }]);
      }
      expect(client.socket.readyState).toBe(client.socket.OPEN);
      client.close();
    }));

  it('shares one execution among those with the same rights, operation and variables', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const crawl = await run(graphql);
        const clients = await Promise.all(Array.from({ length: 20 }, () => connected(graphql.port, graphql.tenant.secret)));
        const withSite = 'subscription ($id: ID) { crawlUpdated(id: $id) { version site { id } } }';
        const operations = clients.map((client, at) =>
          client.subscribe(withSite, { id, undeclared: at }, `an id that nobody else has: ${at}`),
        );
        await Promise.all(clients.map((client, at) => client.values(operations[at] ?? '', 1)));
        counts.clear();
        const { version } = await crawl.commit();
        for (const [at, client] of clients.entries())
          expect((await client.values(operations[at] ?? '', 2)).at(-1)).toMatchObject({ version });
        expect(counts.get('getSites')).toBe(1);

        const other = await graphql.newTenant({ organizationId: graphql.tenant.organizationId });
        const apart = await connected(graphql.port, other.secret);
        await apart.values(apart.subscribe(withSite, { id }), 1);
        counts.clear();
        await crawl.commit();
        await Promise.all([...clients.map((client, at) => client.values(operations[at] ?? '', 3)), apart.values('op-1', 2)]);
        expect(counts.get('getSites')).toBe(2);
        for (const client of [...clients, apart]) client.close();
      },
      { wrapStore },
    );
  });

  it('whoever joins a running execution gets what is stored then, though the bus has told nothing of it', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const [first, second] = [await connected(graphql.port, graphql.tenant.secret), await connected(graphql.port, graphql.tenant.secret)];
      const early = first.subscribe(WATCH, { id });
      await first.values(early, 1);
      const { bus } = graphql;
      const crawl = await run({ ...graphql, bus: { ...bus, publish: async () => {} } });
      await crawl.commit();
      const { version } = await crawl.commit();
      const late = second.subscribe(WATCH, { id });
      expect(await second.values(late, 1)).toMatchObject([{ version }]);
      expect((await first.values(early, 2)).map((value) => value.version)).toEqual([1, version]);
      await crawl.finish();
      const last = second.subscribe(WATCH, { id });
      for (const [client, operation] of [
        [second, last],
        [second, late],
        [first, early],
      ] as const)
        expect((await client.ended(operation)).type).toBe('complete');
      expect((await second.values(last, 1)).map(({ state }) => state)).toEqual(['DONE']);
      for (const client of [first, second]) client.close();
    }));

  it('leaves nothing running when the last one has left, and none is told twice', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const client = await connected(graphql.port, graphql.tenant.secret);
      const [one, two] = [client.subscribe(WATCH, { id }), client.subscribe(WATCH, { id })];
      await Promise.all([client.values(one, 1), client.values(two, 1)]);
      client.send({ id: one, type: 'complete' });
      const crawl = await run(graphql);
      await crawl.commit();
      await client.values(two, 2);
      expect(client.of(one)).toHaveLength(1);
      client.send({ id: two, type: 'complete' });
      await client.values(client.subscribe('{ viewer { organization { id } } }'), 1);
      await crawl.commit();
      await client.values(client.subscribe('{ viewer { organization { id } } }'), 1);
      expect(client.of(two)).toHaveLength(2);
      const again = client.subscribe(WATCH, { id }, one);
      expect((await client.values(again, 2)).at(-1)).toMatchObject({ version: 3 });
      client.close();
    }));
});

describe('crawlUpdated without id', () => {
  it('tells what has changed while the bus was lost, the latest of each crawl, and stays', () =>
    withGraphql(
      async (graphql) => {
        const client = await connected(graphql.port, graphql.tenant.secret);
        const operation = client.subscribe(WATCH);
        await client.values(client.subscribe('{ viewer { organization { id } } }'), 1);
        const id = await graphql.start();
        expect(await client.values(operation, 1)).toMatchObject([{ id, version: 1 }]);
        const { bus } = graphql;
        const crawl = await run({ ...graphql, bus: { ...bus, publish: async () => {} } });
        await crawl.commit();
        const { version } = await crawl.commit();
        expect((await client.values(operation, 2)).slice(1)).toMatchObject([{ id, version }]);
        const final = await crawl.finish();
        expect((await client.values(operation, 3)).slice(2)).toMatchObject([{ id, version: final.version, state: 'DONE' }]);
        expect(client.of(operation).every(({ type }) => type === 'next')).toBe(true);
        client.close();
      },
      { timers: { now: () => systemTimers.now() * 20, after: (ms, callback) => systemTimers.after(ms / 20, callback) } },
    ));

  it('tells of every crawl of the organization from now on, and of no other', () =>
    withGraphql(async (graphql) => {
      const other = await graphql.newTenant();
      await graphql.start();
      const client = await connected(graphql.port, graphql.tenant.secret);
      const operation = client.subscribe(WATCH);
      await client.values(client.subscribe('{ viewer { organization { id } } }'), 1);
      const crawl = await run(graphql);
      await graphql.start({}, { secret: other.secret });
      await crawl.commit();
      const second = await graphql.start({ url: 'https://two.example/' });
      const last = await crawl.finish();
      const values = await client.values(operation, 3);
      expect(values.map(({ id, version }) => [id, version])).toEqual([
        [crawl.id, 2],
        [second, 1],
        [crawl.id, last.version],
      ]);
      expect(client.of(operation).every(({ type }) => type === 'next')).toBe(true);
      client.close();
    }));
});
