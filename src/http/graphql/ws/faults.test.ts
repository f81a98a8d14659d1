import { createClient } from 'graphql-ws';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Timers } from '#domain/timers.ts';
import { heapUsed, untilFlat } from '#service/fixtures/heap.ts';
import type { Store } from '#store/store.ts';
import { systemTimers } from '#worker/timers.ts';
import { countingStore, type TestGraphql, withGraphql } from '../fixtures/graphql.ts';
import { run } from '../fixtures/run.ts';
import { connected, openSocket, type TestSocket } from '../fixtures/socket.ts';

const WATCH = 'subscription ($id: ID) { crawlUpdated(id: $id) { id url state version } }';
const WITH_SITE = 'subscription ($id: ID) { crawlUpdated(id: $id) { version site { id } } }';

const wireOf = ({ socket }: TestSocket) => (socket as unknown as { _socket: { pause(): void; resume(): void } })._socket;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Publishes made-up updates of a crawl, as large as they get. */
async function publisher({ store, bus }: TestGraphql, id: string) {
  const [snapshot] = await store.getSnapshots([id as never]);
  if (snapshot === undefined) throw new Error('no crawl');
  const url = `https://example.com/${'x'.repeat(2_000)}`;
  let { version } = snapshot;
  return { publish: () => bus.publish({ ...snapshot, url, version: ++version }), version: () => version };
}

describe('a subscriber that never reads', () => {
  it.each([
    ['one crawl', (id: string) => ({ id })],
    ['the organization', () => ({})],
  ])('of %s keeps memory flat while 100,000 updates pass, and ends with the newest one', (_name, variables) =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const [slow, fast] = [await connected(graphql.port, graphql.tenant.secret), await connected(graphql.port, graphql.tenant.secret)];
      const [slowly, quickly] = [slow.subscribe(WATCH, variables(id)), fast.subscribe(WATCH, variables(id))];
      await fast.values(fast.subscribe('{ viewer { organization { id } } }'), 1);
      await slow.values(slow.subscribe('{ viewer { organization { id } } }'), 1);
      wireOf(slow).pause();
      const updates = await publisher(graphql, id);
      /** What the test itself keeps. */
      const forget = (): void => {
        fast.messages.length = 0;
        graphql.published.length = 0;
      };
      const publish = async (count: number): Promise<void> => {
        for (let at = 0; at < count; at++) {
          await updates.publish();
          if (at % 20 === 0) await turn();
          if (at % 5_000 === 0) forget();
        }
        forget();
      };
      await publish(20_000);
      const heap = heapUsed();
      await publish(80_000);
      await untilFlat(heap);

      await updates.publish();
      await fast.message(({ id: operation, payload }) => operation === quickly && versionOf(payload) === updates.version());
      wireOf(slow).resume();
      await slow.message(({ id: operation, payload }) => operation === slowly && versionOf(payload) === updates.version());
      const seen = slow.of(slowly).map(({ payload }) => versionOf(payload) ?? 0);
      expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
      for (const client of [slow, fast]) client.close();
    }),
  );

  it('is cut off after 30 s, and its siblings are not', () =>
    withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const [slow, fast] = [await connected(graphql.port, graphql.tenant.secret), await connected(graphql.port, graphql.tenant.secret)];
        const operation = fast.subscribe(WATCH, { id });
        await Promise.all([fast.values(operation, 1), slow.values(slow.subscribe(WATCH, { id }), 1)]);
        wireOf(slow).pause();
        const updates = await publisher(graphql, id);
        const closed = () => graphql.logged.some(({ msg, code }) => msg === 'WebSocket closed' && code === 1006);
        const began = performance.now();
        while (!closed()) {
          await updates.publish();
          await turn();
        }
        expect(performance.now() - began).toBeGreaterThan(30_000 / 10);
        await updates.publish();
        await fast.message((message) => message.id === operation && versionOf(message.payload) === updates.version());
        for (const client of [slow, fast]) client.socket.terminate();
      },
      { timers: faster(10) },
    ));

  it('but asks on and on is cut off when a mebibyte of answers waits for it', () =>
    withGraphql(async ({ port, tenant }) => {
      const client = await connected(port, tenant.secret);
      wireOf(client).pause();
      const payload = { text: 'x'.repeat(50_000) };
      for (let at = 0; at < 5_000 && client.socket.readyState === client.socket.OPEN; at++) {
        client.socket.send(JSON.stringify({ type: 'ping', payload }));
        await turn();
      }
      expect((await client.closed).code).toBe(1006);
    }));
});

const versionOf = (payload: { data?: { crawlUpdated?: { version: number } } } | undefined): number | undefined =>
  payload?.data?.crawlUpdated?.version;

const faster = (factor: number): Timers => ({
  now: () => systemTimers.now() * factor,
  after: (ms, callback) => systemTimers.after(ms / factor, callback),
});

describe('a client that sends much beside what it asks', () => {
  it('has none of it kept, neither with its socket nor with what it watches', () =>
    withGraphql(async ({ start, port, tenant }) => {
      const id = await start();
      const huge = (at: number): string => `${at}${'x'.repeat(95_000)}`;
      const client = await connected(port, tenant.secret);
      const watch = async (at: number): Promise<void> => {
        const payload = { query: WATCH, variables: { id, huge: huge(at) }, extensions: {} };
        client.send({ id: `${at}`, type: 'subscribe', payload });
        await client.values(`${at}`, 1);
      };
      await watch(0);
      const heap = heapUsed();
      const others: TestSocket[] = [];
      for (let at = 1; at < 100; at++) {
        await watch(at);
        const other = await openSocket(port);
        other.send({ type: 'connection_init', payload: { authorization: `Bearer ${tenant.secret}`, huge: huge(at) } });
        await other.message(({ type }) => type === 'connection_ack');
        others.push(other);
      }
      await untilFlat(heap); // of 19 MB
      for (const each of [client, ...others]) each.close();
    }));
});

describe('clients that come and go', () => {
  it('5,000 of them, cut at any moment, leave nothing behind', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async (graphql) => {
        const { port, tenant } = graphql;
        const id = await graphql.start();
        const crawl = await run(graphql);
        /** Each is cut at another moment of its life. */
        const live = async (at: number): Promise<void> => {
          const client = await openSocket(port);
          if (at % 5 > 0) client.send({ type: 'connection_init', payload: { authorization: `Bearer ${tenant.secret}` } });
          if (at % 5 > 1) await client.message(({ type }) => type === 'connection_ack');
          if (at % 5 > 2) client.subscribe(WITH_SITE, { id: at % 2 === 0 ? id : undefined });
          if (at % 5 > 3) await client.values(client.subscribe(WITH_SITE, { id }), 1);
          if (at % 3 === 0) client.close();
          else client.socket.terminate();
          await client.closed;
        };
        const round = (size: number) => Promise.all(Array.from({ length: size }, (_, at) => live(at)));
        await round(250);
        const closedBefore = graphql.logged.length;
        const heap = heapUsed();
        for (let rounds = 0; rounds < 19; rounds++) {
          await round(250);
          graphql.logged.length = 0;
        }
        expect(closedBefore).toBeGreaterThan(0);
        const last = await connected(port, tenant.secret);
        await last.values(last.subscribe('{ viewer { organization { id } } }'), 1);
        graphql.logged.length = 0;
        await untilFlat(heap);
        counts.clear();
        await crawl.commit();
        await last.values(last.subscribe('{ viewer { organization { id } } }'), 1);
        expect(counts.get('getSites')).toBeUndefined();
        last.close();
      },
      { wrapStore },
    );
  });

  it('are not waited for when they go during the first read', async () => {
    let held: PromiseWithResolvers<void> | null = null;
    let reading = (): void => {};
    const wrapStore = (store: Store): Store => ({
      ...store,
      async getSnapshots(ids) {
        reading();
        await held?.promise;
        return store.getSnapshots(ids);
      },
    });
    await withGraphql(
      async ({ start, port, tenant, logged }) => {
        const id = await start();
        const client = await connected(port, tenant.secret);
        held = Promise.withResolvers();
        const read = new Promise<void>((resolve) => {
          reading = resolve;
        });
        client.subscribe(WATCH, { id });
        await read;
        client.socket.terminate();
        await client.closed;
        const next = await connected(port, tenant.secret);
        const operation = next.subscribe(WATCH, { id });
        held.resolve();
        await next.values(operation, 1);
        expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
        next.close();
      },
      { wrapStore },
    );
  });
});

describe('a crawl that finishes while watchers begin', () => {
  it('is told to each by rising versions, its final state once and last, in 300 interleavings', async () => {
    /** What happens around the reads that a beginning watcher makes; taken one by one. */
    const around: (() => Promise<unknown>)[] = [];
    const step = async (): Promise<void> => void (await around.shift()?.());
    const wrapStore = (store: Store): Store => ({
      ...store,
      async getSnapshots(ids) {
        await step();
        const read = await store.getSnapshots(ids);
        await step();
        return read;
      },
    });
    await withGraphql(
      async (graphql) => {
        const clients = await Promise.all([1, 2, 3].map(() => connected(graphql.port, graphql.tenant.secret)));
        let seed = 1;
        const random = (below: number): number => {
          seed = (seed * 48_271) % 2_147_483_647;
          return seed % below;
        };
        for (let round = 0; round < 300; round++) {
          const { secret } = await graphql.newTenant({ organizationId: graphql.tenant.organizationId });
          const id = await graphql.start({}, { secret });
          const crawl = await run(graphql);
          const acts = [crawl.commit, crawl.commit, crawl.finish];
          const doNext = async () => acts.shift()?.();
          around.length = 0;
          for (let at = 0; at < 6; at++) around.push(random(2) === 0 ? doNext : async () => {});
          const operations = clients.map((client, at) => [client, `${round}-${at}`] as const);
          for (const [client, operation] of operations) {
            client.subscribe(WATCH, { id }, operation);
            for (let turns = random(4); turns > 0; turns--) await turn();
            if (random(3) === 0) await doNext();
          }
          while (acts.length > 0) {
            await doNext();
            for (let turns = random(3); turns > 0; turns--) await turn();
          }
          for (const [client, operation] of operations) {
            expect((await client.ended(operation)).type).toBe('complete');
            const updates = client.of(operation).filter(({ type }) => type === 'next');
            const versions = updates.map(({ payload }) => payload.data.crawlUpdated.version);
            expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
            const states = updates.map(({ payload }) => payload.data.crawlUpdated.state);
            expect(states.filter((state) => state !== 'RUNNING')).toEqual(['DONE']);
            expect(states.at(-1)).toBe('DONE');
            client.messages.length = 0;
          }
        }
        for (const client of clients) client.close();
      },
      { wrapStore },
    );
  });
});

describe('the stop of a gateway', () => {
  it('makes clients of graphql-ws connect again, and go on', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const crawl = await run(graphql);
      const client = createClient({
        url: `ws://127.0.0.1:${graphql.port}/graphql`,
        connectionParams: { authorization: `Bearer ${graphql.tenant.secret}` },
        webSocketImpl: WebSocket,
        retryAttempts: 100,
        shouldRetry: () => true, // else it gives up when it is refused before the next server listens
        retryWait: () => new Promise((resolve) => setTimeout(resolve, 20)),
      });
      const versions: (number | undefined)[] = [];
      const updates = client.iterate<{ crawlUpdated: { version: number } }>({ query: WATCH, variables: { id } });
      const take = async () => versions.push((await updates.next()).value?.data?.crawlUpdated.version);
      await take();
      await graphql.server.stop({ deadlineMs: 1_000 });
      await crawl.commit(); // nobody hears of it
      const another = await graphql.anotherServer();
      await take();
      await crawl.finish();
      await take();
      expect((await updates.next()).done).toBe(true);
      expect(versions).toEqual([1, 2, versions[2]]);
      await client.dispose();
      await another.stop({ deadlineMs: 1_000 });
    }));
});
