import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { CrawlId } from '#domain/ids.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import { heapUsed, untilFlat } from '#service/fixtures/heap.ts';
import { type ManualTimers, manualTimers, settled } from '#service/fixtures/manual-timers.ts';
import { type EventStream, openEventStream } from '../fixtures/event-stream.ts';
import { startHttp, type TestHttp, type TestHttpOptions } from '../fixtures/http.ts';

type World = TestHttp & {
  readonly timers: ManualTimers;
  watch(id: CrawlId, headers?: Record<string, string>): Promise<EventStream>;
  /** The crawl as it is stored. */
  stored(id: CrawlId): Promise<Snapshot>;
};

const inHttp =
  (use: (world: World) => Promise<void>, options: TestHttpOptions = {}) =>
  async (): Promise<void> => {
    const timers = manualTimers();
    const http = await startHttp({ timers, ...options });
    const { port, tenant, store } = http;
    try {
      await use({
        ...http,
        timers,
        watch: (id, headers) => openEventStream(port, `/v1/crawls/${id}/updates`, { authorization: `Bearer ${tenant.secret}`, ...headers }),
        async stored(id) {
          const snapshot = await store.getCrawl(tenant.organizationId, id);
          if (snapshot === null) throw new Error('there is no such crawl');
          return snapshot;
        },
      });
    } finally {
      await http.close();
    }
  };

/** A change that nobody stores: what a watcher is told is up to the bus. */
const updateOf = (snapshot: Snapshot, changes: Partial<Snapshot> = {}): Snapshot => ({
  ...snapshot,
  version: snapshot.version + 1,
  ...changes,
});

/** Large enough that a few fill what the system buffers of a connection. */
const LARGE = 'x'.repeat(1024 * 1024);

/** More than the system buffers of a connection that is not read. Answers the last one. */
async function publishLarge(stored: Snapshot, { bus, timers }: Pick<World, 'bus' | 'timers'>): Promise<Snapshot> {
  let snapshot = stored;
  for (let n = 0; n < 40; n++) {
    snapshot = updateOf(snapshot, { error: LARGE });
    await bus.publish(snapshot);
    await timers.advance(200);
  }
  return snapshot;
}

describe('GET /v1/crawls/{id}/updates', () => {
  it(
    'sends the stored crawl at once, then each update with its version as id, and ends with the final one',
    inHttp(async ({ start, watch, bus, stored, finish, timers }) => {
      const id = await start();
      const stream = await watch(id);
      expect(stream.status).toBe(200);
      expect(stream.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'private, no-store' });
      const first = await stored(id);
      const json = { id, host: 'example.com', state: 'running', urlsCrawled: 0, findingsCount: null, error: null };
      const event = await stream.next();
      expect(event).toMatchObject({ id: String(first.version), event: 'update' });
      expect(JSON.parse(event?.data ?? '')).toStrictEqual({ ...json, phase: 'queued', version: first.version });
      await timers.advance(200);
      await bus.publish(updateOf(first, { phase: 'fetching', counters: { ...first.counters, fetched: 7 } }));
      const second = await stream.next();
      expect(JSON.parse(second?.data ?? '')).toStrictEqual({ ...json, urlsCrawled: 7, phase: 'fetching', version: first.version + 1 });
      await finish();
      await bus.publish(await stored(id));
      expect(JSON.parse((await stream.next())?.data ?? '')).toMatchObject({ state: 'done', phase: 'finished', findingsCount: 0 });
      expect(await stream.next()).toBeNull();
    }),
  );

  it(
    'of a crawl that has ended sends one event and ends',
    inHttp(async ({ start, watch, finish, stored }) => {
      const id = await start();
      await finish();
      const stream = await watch(id);
      expect((await stream.rest()).map((event) => event.id)).toEqual([String((await stored(id)).version)]);
    }),
  );

  it(
    'goes on after Last-Event-ID',
    inHttp(async ({ start, watch, bus, stored, timers }) => {
      const id = await start();
      const snapshot = await stored(id);
      const stream = await watch(id, { 'last-event-id': String(snapshot.version) });
      await timers.advance(1_000);
      await bus.publish(updateOf(snapshot));
      expect(await stream.next()).toMatchObject({ id: String(snapshot.version + 1) });
      stream.request.destroy();
    }),
  );

  it(
    'has nothing more to send after the final event, and says so in a way that ends an EventSource',
    inHttp(async ({ start, watch, finish, stored }) => {
      const id = await start();
      await finish();
      const stream = await watch(id, { 'last-event-id': String((await stored(id)).version) });
      expect(stream.status).toBe(204);
    }),
  );

  it.each(['x', '-1', '1.5', '1'.repeat(16)])('refuses the Last-Event-ID %s', (value) =>
    inHttp(async ({ call, start }) => {
      const { status, json } = await call('GET', `/v1/crawls/${await start()}/updates`, { headers: { 'last-event-id': value } });
      expect([status, json.errors]).toEqual([400, [{ detail: 'must be the id of an event', header: 'Last-Event-ID' }]]);
    })(),
  );

  it(
    'refuses with a problem what may not be watched',
    inHttp(async ({ call, start, newTenant }) => {
      const path = `/v1/crawls/${await start()}/updates`;
      const stranger = await newTenant();
      const narrow = await newTenant({ scopes: ['crawls:write'] });
      const statusOf = async (...args: Parameters<typeof call>) => (await call(...args)).status;
      expect([
        await statusOf('GET', path, { secret: null }),
        await statusOf('GET', path, { secret: narrow.secret }),
        await statusOf('GET', path, { secret: stranger.secret }),
        await statusOf('GET', `/v1/crawls/${crypto.randomUUID()}/updates`),
        await statusOf('GET', '/v1/crawls/1/updates'),
        await statusOf('POST', path, { body: {} }),
      ]).toEqual([401, 403, 404, 404, 404, 405]);
    }),
  );

  it(
    'answers HEAD without a stream',
    inHttp(async ({ call, start, timers }) => {
      const { status, headers, text } = await call('HEAD', `/v1/crawls/${await start()}/updates`);
      expect([status, headers.get('content-type'), text]).toEqual([200, 'text/event-stream', '']);
      await settled();
      expect(timers.pending()).toBe(0);
    }),
  );

  it(
    'tells what is left of the limit of requests',
    inHttp(
      async ({ start, watch }) => {
        const stream = await watch(await start());
        expect(stream.headers.ratelimit).toMatch(/^"requests";r=9;t=\d+$/);
        stream.request.destroy();
      },
      { readLimitPerMinute: 10 },
    ),
  );

  it(
    'sends a comment every 15 s while nothing happens',
    inHttp(async ({ start, watch, timers }) => {
      const stream = await watch(await start());
      await stream.next();
      for (let n = 0; n < 3; n++) {
        const comment = stream.nextComment();
        await timers.advance(15_000);
        expect(await comment).toBe('keep-alive');
      }
      stream.request.destroy();
    }),
  );

  it(
    'is refused beyond the thousand streams that a key may have, with when to come again',
    inHttp(async ({ start, watch, call, newTenant, tenant, port }) => {
      const id = await start();
      const streams: EventStream[] = [];
      while (streams.length < 1_000) streams.push(...(await Promise.all(Array.from({ length: 50 }, () => watch(id)))));
      const { status, headers, json } = await call('GET', `/v1/crawls/${id}/updates`);
      expect([status, headers.get('retry-after'), json.code]).toEqual([429, '10', 'rate_limited']);
      expect(json.detail).toBe('An API key may have 1000 streams of updates open.');
      const { secret } = await newTenant({ organizationId: tenant.organizationId });
      const other = await openEventStream(port, `/v1/crawls/${id}/updates`, { authorization: `Bearer ${secret}` });
      expect(other.status).toBe(200);
      for (const { request } of [...streams, other]) request.destroy();
    }),
  );

  it(
    'leaves nothing behind when its client has gone, at whatever moment',
    inHttp(async ({ start, watch, timers, port, tenant, logged }) => {
      const id = await start();
      const stream = await watch(id);
      stream.request.destroy();
      for (let n = 0; n < 100; n++) {
        const opening = openEventStream(port, `/v1/crawls/${id}/updates`, { authorization: `Bearer ${tenant.secret}` });
        opening.then(
          ({ request }) => request.destroy(),
          () => {},
        );
        if (n % 4 === 0) await settled();
        if (n % 10 === 0) await opening;
      }
      while (logged.filter(({ route }) => route === '/v1/crawls/{id}/updates').length < 101) await settled();
      await settled();
      expect(timers.pending()).toBe(0);
      expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
    }),
  );
});

describe('a reader that is slow', () => {
  it(
    'gets few updates, in rising order, and the final one',
    inHttp(async ({ start, watch, bus, stored, timers }) => {
      const id = await start();
      const stream = await watch(id);
      const { version } = await stored(id);
      stream.response.pause();
      let snapshot = await stored(id);
      for (let n = 0; n < 200; n++) {
        snapshot = updateOf(snapshot, { error: LARGE });
        await bus.publish(snapshot);
        await timers.advance(100); // 20 s in all
      }
      await bus.publish(updateOf(snapshot, { state: 'failed', phase: 'finished' }));
      const versions = (await stream.rest()).map((event) => Number(event.id));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      expect([versions[0], versions.at(-1)]).toEqual([version, version + 201]);
      expect(versions.length).toBeLessThan(80);
    }),
    60_000,
  );

  it(
    'is cut off when it takes nothing for 30 s, while its siblings go on',
    inHttp(async ({ start, watch, bus, stored, timers }) => {
      const id = await start();
      const [idle, reader] = [await watch(id), await watch(id)];
      idle.response.pause();
      const reading = reader.rest();
      let snapshot = await stored(id);
      const cut = once(idle.request, 'close');
      for (let n = 0; n < 100; n++) {
        snapshot = updateOf(snapshot, { error: LARGE });
        await bus.publish(snapshot);
        await timers.advance(1_000); // a hundred seconds in all
      }
      const received = await idle.rest();
      await cut;
      expect(received.length).toBeLessThan(60);
      expect(received.some(({ id }) => id === String(snapshot.version))).toBe(false);
      await bus.publish(updateOf(snapshot, { state: 'done', phase: 'finished' }));
      expect((await reading).at(-1)?.id).toBe(String(snapshot.version + 1));
    }),
    60_000,
  );

  it(
    'costs the server the same memory however many updates pass',
    inHttp(async ({ start, watch, bus, stored, timers, published }) => {
      const id = await start();
      const stream = await watch(id);
      stream.response.pause();
      let snapshot = await publishLarge(await stored(id), { bus, timers });
      published.length = 0;
      const before = heapUsed();
      for (let n = 0; n < 100_000; n++) {
        snapshot = updateOf(snapshot, { counters: { ...snapshot.counters } });
        await bus.publish(snapshot);
        if (n % 1_000 === 0) await timers.advance(200);
      }
      published.length = 0; // what the test itself keeps
      await untilFlat(before);
      stream.request.destroy();
    }),
    60_000,
  );
});

describe('a stream is ended', () => {
  it(
    'by the stop of the server, at once and without a final event',
    inHttp(async ({ start, watch, server, finish, stored, timers }) => {
      const id = await start();
      const stream = await watch(id);
      const reading = stream.rest();
      const stopping = server.stop({ deadlineMs: 60_000 });
      expect((await reading).length).toBeLessThanOrEqual(1);
      await stopping;
      await finish();
      expect(isFinal(await stored(id))).toBe(true);
      expect(timers.pending()).toBe(0);
    }),
  );

  it(
    'by the stop of the server also when its client does not read',
    inHttp(async ({ start, watch, server, bus, stored, timers }) => {
      const id = await start();
      const stream = await watch(id);
      stream.response.pause();
      await publishLarge(await stored(id), { bus, timers });
      await server.stop({ deadlineMs: 60_000 });
    }),
  );

  it(
    'within 5 s after its key was revoked, and is refused from then on',
    inHttp(async ({ start, watch, store, tenant, timers }) => {
      const id = await start();
      const stream = await watch(id);
      const reading = stream.rest();
      await store.revokeKey(tenant.keyId);
      await timers.advance(5_000);
      expect(await reading).toHaveLength(1);
      expect((await watch(id)).status).toBe(401);
    }),
  );
});
