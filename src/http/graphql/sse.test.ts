import { randomUUID } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, request as nodeRequest } from 'node:http';
import { createClient } from 'graphql-sse';
import { describe, expect, it } from 'vitest';
import type { Timers } from '#domain/timers.ts';
import { FLAT, heapUsed } from '#service/fixtures/heap.ts';
import { systemTimers } from '#worker/timers.ts';
import { countingStore, type TestGraphql, withGraphql } from './fixtures/graphql.ts';
import { run } from './fixtures/run.ts';

const WATCH = 'subscription ($id: ID) { crawlUpdated(id: $id) { id state version site { id } } }';

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server wrote
type Event = { readonly event: string; readonly data: any };

type Stream = {
  readonly request: ClientRequest;
  readonly response: IncomingMessage;
  readonly events: Event[];
  /** Resolves when so many events have come; comments do not count. */
  take(count: number): Promise<Event[]>;
  readonly ended: Promise<void>;
};

const faster = (factor: number): Timers => ({
  now: () => systemTimers.now() * factor,
  after: (ms, callback) => systemTimers.after(ms / factor, callback),
});

async function open({ port, tenant }: TestGraphql, variables: object, secret = tenant.secret): Promise<Stream> {
  const headers = { accept: 'text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${secret}` };
  const request = nodeRequest({ host: '127.0.0.1', port, path: '/graphql', method: 'POST', headers, agent: false });
  request.end(JSON.stringify({ query: WATCH, variables }));
  const response = await new Promise<IncomingMessage>((resolve, reject) => request.once('response', resolve).once('error', reject));
  const events: Event[] = [];
  let text = '';
  let look = (): void => {};
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const [, event = '', data = ''] = /^event: (\w+)\ndata: ?(.*)$/.exec(text.slice(0, end)) ?? [];
      if (event !== '') events.push({ event, data: data === '' ? null : JSON.parse(data) });
      text = text.slice(end + 2);
    }
    look();
  });
  const ended = new Promise<void>((resolve) => response.once('close', resolve));
  return {
    request,
    response,
    events,
    ended,
    take: (count) =>
      new Promise((resolve, reject) => {
        look = () => events.length >= count && resolve(events);
        look();
        void ended.then(() => reject(new Error(`ended after ${JSON.stringify(events)}`)));
      }),
  };
}

describe('crawlUpdated by server-sent events', () => {
  it('gives the stored state at once, newer ones, the final one, and completes', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const stream = await open(graphql, { id });
      expect(stream.response.statusCode).toBe(200);
      expect(stream.response.headers).toMatchObject({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      expect((await stream.take(1))[0]).toMatchObject({ event: 'next', data: { data: { crawlUpdated: { id, version: 1 } } } });
      const crawl = await run(graphql);
      await crawl.commit();
      await stream.take(2);
      const { version } = await crawl.finish();
      await stream.ended;
      expect(stream.events.slice(2)).toMatchObject([
        { event: 'next', data: { data: { crawlUpdated: { state: 'DONE', version } } } },
        { event: 'complete', data: null },
      ]);
    }));

  it('of an unknown crawl is the error not_found', () =>
    withGraphql(async (graphql) => {
      const stream = await open(graphql, { id: randomUUID() });
      await stream.ended;
      expect(stream.events).toMatchObject([
        { event: 'next', data: { errors: [{ path: ['crawlUpdated'], extensions: { code: 'not_found' } }] } },
        { event: 'complete' },
      ]);
    }));

  it('without id tells of every crawl of the organization from now on', () =>
    withGraphql(async (graphql) => {
      await graphql.start();
      const stream = await open(graphql, {});
      const crawl = await run(graphql);
      const { version } = await crawl.commit();
      expect((await stream.take(1))[0]?.data.data.crawlUpdated).toMatchObject({ id: crawl.id, version });
      stream.request.destroy();
    }));

  it('is asked by GET, too', () =>
    withGraphql(async (graphql) => {
      await graphql.start();
      const id = await graphql.finish();
      const query = encodeURIComponent(`subscription { crawlUpdated(id: "${id}") { state } }`);
      const { text } = await graphql.call('GET', `/graphql?query=${query}`, { headers: { accept: 'text/event-stream' } });
      expect(text).toContain('data: {"data":{"crawlUpdated":{"state":"DONE"}}}');
      expect(text).toContain('event: complete');
    }));

  it('costs nothing when its client takes no stream', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const { status } = await graphql.send(WATCH, { id }, { headers: { accept: 'application/json' } });
        expect(status).toBe(406);
        const stays = await open(graphql, { id });
        await stays.take(1);
        counts.clear();
        await (await run(graphql)).commit();
        await stays.take(2);
        expect(counts.get('getSites')).toBe(1);
        stays.request.destroy();
      },
      { wrapStore },
    );
  });

  it('costs nothing once its client has gone, also when it goes before the first value', async () => {
    const { wrapStore, counts } = countingStore();
    await withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const crawl = await run(graphql);
        const [gone, stays] = [await open(graphql, { id }), await open(graphql, { id })];
        await Promise.all([gone.take(1), stays.take(1)]);
        const early = nodeRequest({
          port: graphql.port,
          path: '/graphql',
          method: 'POST',
          headers: { accept: 'text/event-stream', 'content-type': 'application/json', authorization: `Bearer ${graphql.tenant.secret}` },
        }).on('error', () => {});
        early.end(JSON.stringify({ query: WATCH, variables: { id } }), () => early.destroy());
        gone.request.destroy();
        while (graphql.logged.filter(({ msg }) => msg === 'request abandoned by its client').length < 2)
          await new Promise((resolve) => setTimeout(resolve, 5));
        counts.clear();
        await crawl.commit();
        await stays.take(2);
        expect(counts.get('getSites')).toBe(1);
        stays.request.destroy();
      },
      { wrapStore },
    );
  });

  it('ends with the revoking of its key, and with the stop of the server, each by its code', () =>
    withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const other = await graphql.newTenant({ organizationId: graphql.tenant.organizationId });
        const [revoked, stopped] = [await open(graphql, { id }), await open(graphql, { id }, other.secret)];
        await Promise.all([revoked.take(1), stopped.take(1)]);
        await graphql.store.revokeKey(graphql.tenant.keyId);
        await revoked.ended;
        await graphql.server.stop({ deadlineMs: 2_000 });
        await stopped.ended;
        for (const [{ events }, code] of [
          [revoked, 'unauthorized'],
          [stopped, 'unavailable'],
        ] as const)
          expect(events.slice(1)).toMatchObject([{ event: 'next', data: { errors: [{ extensions: { code } }] } }, { event: 'complete' }]);
      },
      { timers: faster(20) },
    ));

  it('is cut off when its client takes nothing for 30 s', () =>
    withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const slow = await open(graphql, {});
        slow.response.pause();
        slow.response.socket.pause();
        const [snapshot] = await graphql.store.getSnapshots([id]);
        if (snapshot === undefined) throw new Error('no crawl');
        const url = `https://example.com/${'x'.repeat(2_000)}`;
        const cutOff = () => graphql.logged.some(({ msg }) => msg === 'request abandoned by its client');
        let [heap, grown] = [0, Number.POSITIVE_INFINITY];
        for (let version = 2; version <= 10_000 || !cutOff(); version++) {
          await graphql.bus.publish({ ...snapshot, url, version });
          await new Promise((resolve) => setImmediate(resolve));
          if (version === 1_000) heap = heapUsed();
          if (version === 10_000) grown = heapUsed() - heap;
        }
        expect(grown).toBeLessThan(FLAT);
        slow.request.destroy();
      },
      { timers: faster(6) },
    ));

  it('is refused beyond the streams that a key, and the process, may have, and possible again when one has gone', () =>
    withGraphql(
      async (graphql) => {
        const id = await graphql.start();
        const other = await graphql.newTenant({ organizationId: graphql.tenant.organizationId });
        const streams = [await open(graphql, { id }), await open(graphql, { id })];
        await Promise.all(streams.map((stream) => stream.take(1)));
        const refusal = async (secret?: string) => {
          const stream = await open(graphql, { id }, secret);
          await stream.ended;
          expect(stream.events).toHaveLength(2);
          return stream.events[0]?.data.errors[0];
        };
        expect(await refusal()).toMatchObject({
          message: 'An API key may have 2 GraphQL event streams open.',
          extensions: { code: 'rate_limited', retryAfterSeconds: 10 },
        });
        const third = await open(graphql, { id }, other.secret);
        await third.take(1);
        expect(await refusal(other.secret)).toMatchObject({
          message: 'This server has its 3 GraphQL event streams open.',
          extensions: { code: 'unavailable', retryAfterSeconds: 5 },
        });
        streams[0]?.request.destroy();
        while (!graphql.logged.some(({ msg }) => msg === 'request abandoned by its client')) await new Promise(setImmediate);
        const next = await open(graphql, { id });
        await next.take(1);
        for (const { request } of [...streams, third, next]) request.destroy();
      },
      { graphqlLimits: { maxStreamsPerKey: 2, maxStreams: 3 } },
    ));

  it('is what a client of graphql-sse understands', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const client = createClient({
        url: `${graphql.address}/graphql`,
        headers: { authorization: `Bearer ${graphql.tenant.secret}` },
        retryAttempts: 0,
      });
      const updates = client.iterate<{ crawlUpdated: { state: string } }>({ query: WATCH, variables: { id } });
      expect((await updates.next()).value?.data?.crawlUpdated.state).toBe('RUNNING');
      await (await run(graphql)).finish();
      const rest: (string | undefined)[] = [];
      for await (const { data } of updates) rest.push(data?.crawlUpdated.state);
      expect(rest).toEqual(['DONE']);
      client.dispose();
    }));
});
