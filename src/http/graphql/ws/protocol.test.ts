import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createClient } from 'graphql-ws';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { manualTimers } from '#service/fixtures/manual-timers.ts';
import type { Store } from '#store/store.ts';
import { type TestGraphql, withGraphql } from '../fixtures/graphql.ts';
import { connected, openSocket } from '../fixtures/socket.ts';

const WATCH = 'subscription ($id: ID) { crawlUpdated(id: $id) { id version } }';
const NO_KEY = 'Send an API key in connection_init: {"authorization": "Bearer <key>"}.';
const WHO = '{ viewer { organization { id } } }';

const codeOf = async ({ closed }: { closed: Promise<{ code: number }> }): Promise<number> => (await closed).code;

describe('the beginning of a socket', () => {
  it.each(['authorization', 'Authorization', 'AUTHORIZATION'])('takes the key as %s', (name) =>
    withGraphql(async ({ port, tenant }) => {
      const client = await openSocket(port);
      client.send({ type: 'connection_init', payload: { other: 1, [name]: `bearer ${tenant.secret}` } });
      expect(await client.message(() => true)).toEqual({ type: 'connection_ack' });
      client.close();
    }),
  );

  it.each([
    ['no payload', undefined, NO_KEY],
    ['no key', {}, NO_KEY],
    ['an unknown key', { authorization: 'Bearer unknown' }, 'The API key is not known, or it was revoked.'],
    ['no scheme', { authorization: 'unknown' }, NO_KEY],
    ['what is no text', { authorization: { Bearer: 'x' } }, NO_KEY],
  ])('is refused with 4403 for %s, and told why', (_name, payload, reason) =>
    withGraphql(async ({ port }) => {
      const client = await openSocket(port);
      client.send({ type: 'connection_init', payload });
      expect(await client.closed).toEqual({ code: 4403, reason });
      expect(client.messages).toEqual([]);
    }),
  );

  it('is refused with 4401 for who subscribes before it, 4408 for who says nothing, 4429 for who says it twice', () =>
    withGraphql(async ({ port, tenant }) => {
      const [early, silent, twice] = await Promise.all([openSocket(port), openSocket(port), connected(port, tenant.secret)]);
      early.subscribe(WATCH);
      twice.send({ type: 'connection_init', payload: { authorization: `Bearer ${tenant.secret}` } });
      expect(await Promise.all([early, silent, twice].map(codeOf))).toEqual([4401, 4408, 4429]);
    }));

  it('is refused with 4406 for another protocol', () =>
    withGraphql(async ({ port }) => {
      for (const protocols of [[], ['graphql-ws']]) {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, protocols);
        const outcome = await new Promise((resolve) => socket.once('close', resolve).once('error', ({ message }) => resolve(message)));
        expect(outcome).toBe(protocols.length === 0 ? 4406 : 'Server sent no subprotocol'); // the client's own complaint comes first
      }
    }));

  it('of a WebSocket elsewhere is none: the address is answered by HTTP', () =>
    withGraphql(async ({ port }) => {
      expect(await upgraded(port, '/nothing', 'websocket')).toMatch(/^HTTP\/1.1 404 /);
      expect(await upgraded(port, '/graphql', 'h2c')).toMatch(/^HTTP\/1.1 401 /);
    }));

  it('is refused beyond the sockets that a key, and the process, may have, and possible again when one has gone', () =>
    withGraphql(
      async ({ port, tenant, newTenant }) => {
        const first = [await connected(port, tenant.secret), await connected(port, tenant.secret)];
        const third = await openSocket(port);
        third.send({ type: 'connection_init', payload: { authorization: `Bearer ${tenant.secret}` } });
        expect(await third.closed).toEqual({ code: 1013, reason: 'An API key may have 2 WebSockets open.' });
        const other = await connected(port, (await newTenant()).secret);
        await expect(openSocket(port)).rejects.toThrow('503');
        first[0]?.close();
        await first[0]?.closed;
        const next = await connected(port, tenant.secret);
        for (const client of [...first, other, next]) client.close();
      },
      { graphqlLimits: { maxSocketsPerKey: 2, maxSockets: 3 } },
    ));
});

/** What is answered to a request for an upgrade. */
function upgraded(port: number, path: string, to: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n\r\n`),
    );
    socket.once('data', (data) => {
      resolve(String(data));
      socket.destroy();
    });
  });
}

describe('an operation', () => {
  it('that cannot be executed ends by itself, and harms neither its siblings nor the socket', () =>
    withGraphql(
      async ({ start, port, tenant }) => {
        const client = await connected(port, tenant.secret);
        const sibling = client.subscribe(WATCH, { id: await start() });
        await client.values(sibling, 1);
        const BAD: readonly [query: string, variables: object, message: RegExp][] = [
          ['subscription {', {}, /^Syntax Error/],
          ['', {}, /^Syntax Error/],
          ['subscription { nope }', {}, /^Cannot query field "nope"/],
          ['subscription { crawlUpdated { id } b: crawlUpdated { id } }', {}, /must select only one top level field/],
          ['query ($id: ID!) { crawl(id: $id) { id } }', {}, /^Variable "\$id"/],
          ['subscription ($id: ID!) { crawlUpdated(id: $id) { id } }', { id: { deep: 1 } }, /^Variable "\$id"/],
          ['{ ...A } fragment A on Query { ...A }', {}, /^Cannot spread fragment/],
          [`{ ${'__typename '.repeat(3_000)} }`, {}, /^The document has 3002 tokens; at most 2000 are allowed\.$/],
          ['{ crawls { edges { node { site { id } } } } }', {}, /^The operation is 5 levels deep; at most 4 are allowed\.$/],
          [`{ ${Array.from({ length: 60 }, (_, at) => `a${at}: __typename`).join(' ')} }`, {}, /60 aliases; at most 50/],
          [`subscription { crawlUpdated { id } } # ${'x'.repeat(10_000)}`, {}, /^The subscription is 10039 characters long; at most 10000/],
          ['query A { __typename } query B { __typename }', {}, /no such operation/],
        ];
        for (const [query, variables, message] of BAD) {
          const { type, payload } = await client.ended(client.subscribe(query, variables));
          expect(type, query).toBe('error');
          expect(payload[0].message).toMatch(message);
          expect(payload[0].extensions).toEqual({ code: 'invalid_request' });
        }
        expect(client.of(sibling)).toHaveLength(1);
        client.close();
      },
      { graphqlLimits: { maxDepth: 4 } },
    ));

  it('that is too long ends by itself, also when its id is used again at once', () =>
    withGraphql(async ({ start, port, tenant }) => {
      const client = await connected(port, tenant.secret);
      const id = await start();
      const sibling = client.subscribe(WATCH, { id });
      await client.values(sibling, 1);
      const long = client.subscribe(WATCH, { id, huge: 'x'.repeat(200_000) });
      const { type, payload } = await client.ended(long);
      expect([type, payload[0].extensions]).toEqual(['error', { code: 'payload_too_large' }]);
      expect(payload[0].message).toMatch(/^The message is 200\d{3} bytes long; at most 102400 are allowed\.$/);
      await client.values(client.subscribe(WATCH, { id }, long), 1);
      expect(client.of(sibling)).toHaveLength(1);
      client.close();
    }));

  it('beyond what different subscriptions of a key may take together is refused, those that are the same are one', () =>
    withGraphql(
      async ({ start, port, tenant, newTenant }) => {
        const [client, second] = [await connected(port, tenant.secret), await connected(port, tenant.secret)];
        const id = await start();
        const names = ['A', 'B', 'C'];
        const named = (name: string): string => WATCH.replace('subscription', `subscription ${name}`);
        const operations = names.slice(0, 2).map((name) => client.subscribe(named(name), { id }));
        for (const operation of operations) await client.values(operation, 1);
        const { type, payload } = await client.ended(client.subscribe(named('C'), { id }));
        expect([type, payload[0].message]).toEqual(['error', 'An API key may have 3000 characters of different subscriptions open.']);
        expect(payload[0].extensions.code).toBe('rate_limited');
        await second.values(second.subscribe(named('A'), { id }), 1);
        const foreign = await connected(port, (await newTenant({ organizationId: tenant.organizationId })).secret);
        expect((await foreign.ended(foreign.subscribe(named('A'), { id }))).payload[0].extensions.code).toBe('unavailable');
        client.send({ id: operations[1], type: 'complete' });
        await client.values(client.subscribe(named('C'), { id }), 1);
        for (const each of [client, second, foreign]) each.close();
      },
      { graphqlLimits: { maxSubscriptionSizePerKey: 3_000, maxSubscriptionSize: 3_500 } },
    ));

  it('may be a query or a mutation, with the errors of fields in its answer', () =>
    withGraphql(async ({ port, tenant }) => {
      const client = await connected(port, tenant.secret);
      const START = 'mutation ($url: String!) { startCrawl(input: { url: $url }) { crawl { id } } }';
      const started = client.subscribe(START, { url: 'https://example.com/' });
      expect((await client.ended(started)).type).toBe('complete');
      const [{ crawl }] = await client.values(started, 1);
      const read = client.subscribe('query ($id: ID!) { crawl(id: $id) { id } }', { id: crawl.id });
      expect(await client.values(read, 1)).toEqual([crawl]);
      const refused = client.subscribe(START, { url: 'nonsense' });
      await client.ended(refused);
      expect(client.of(refused)[0]).toMatchObject({
        type: 'next',
        payload: { data: null, errors: [{ extensions: { code: 'invalid_request', errors: [{ pointer: '/url' }] } }] },
      });
      client.close();
    }));

  it('may be called __proto__, constructor or anything else', () =>
    withGraphql(async ({ port, tenant }) => {
      const client = await connected(port, tenant.secret);
      for (const id of ['__proto__', 'constructor', 'toString', '"\\\n', 'ä'.repeat(1_000)]) {
        const operation = client.subscribe(WHO, {}, id);
        expect((await client.ended(operation)).type).toBe('complete');
        expect(await client.values(operation, 1)).toEqual([{ organization: { id: tenant.organizationId } }]);
      }
      client.close();
    }));

  it('whose id is in use closes the socket with 4409', () =>
    withGraphql(async ({ start, port, tenant }) => {
      const client = await connected(port, tenant.secret);
      const id = await start();
      client.subscribe(WATCH, { id }, 'same');
      client.subscribe(WATCH, { id }, 'same');
      expect(await client.closed).toEqual({ code: 4409, reason: 'Subscriber for same already exists' });
    }));

  // The reason was cut within a character and grew by what stands for a broken one: the frame was too long, and the close an internal error.
  it('whose id is in use, and long, closes the socket with as much of the reason as a close has room for', () =>
    withGraphql(async ({ start, port, tenant }) => {
      const input = { id: await start() };
      for (const padding of ['', 'x', 'xx', 'xxx']) {
        const client = await connected(port, tenant.secret);
        const id = padding + '😀'.repeat(40);
        client.subscribe(WATCH, input, id);
        client.subscribe(WATCH, input, id);
        const { code, reason } = await client.closed;
        expect(code).toBe(4409);
        expect(`Subscriber for ${id} already exists`).toContain(reason);
        expect(Buffer.byteLength(reason)).toBeGreaterThan(119);
      }
    }));

  it('whose id is completed and used again in one segment is another one, each time', () =>
    withGraphql(async ({ start, port, tenant }) => {
      const client = await connected(port, tenant.secret);
      const id = await start();
      const payload = { query: WATCH, variables: { id } };
      const { _socket: wire } = client.socket as unknown as { _socket: { cork(): void; uncork(): void } };
      wire.cork();
      for (let round = 0; round < 50; round++) {
        client.send({ id: 'same', type: 'subscribe', payload: round % 2 === 0 ? payload : { query: WHO } });
        client.send({ id: 'same', type: 'complete' });
      }
      client.send({ id: 'same', type: 'subscribe', payload });
      wire.uncork();
      const last = client.subscribe(WATCH, { id });
      await client.values(last, 1);
      await client.message((message) => message.id === 'same' && message.payload?.data?.crawlUpdated !== undefined);
      expect(client.messages.filter((message) => message.id === 'same' && message.type === 'error')).toEqual([]);
      client.send({ id: 'same', type: 'complete' });
      client.send({ id: 'same', type: 'subscribe', payload: { query: WHO } });
      await client.ended('same');
      client.close();
    }));

  it('beyond those that a socket may have at once is refused, the others go on', () =>
    withGraphql(
      async ({ start, port, tenant }) => {
        const client = await connected(port, tenant.secret);
        const id = await start();
        const running = [client.subscribe(WATCH, { id }), client.subscribe(WATCH, { id })];
        const { type, payload } = await client.ended(client.subscribe(WATCH, { id }));
        expect([type, payload[0].message]).toEqual(['error', 'The socket has 3 operations under way; at most 2 are allowed.']);
        expect(payload[0].extensions).toEqual({ code: 'rate_limited', retryAfterSeconds: 1 });
        client.send({ id: running[0], type: 'complete' });
        await client.values(client.subscribe(WATCH, { id }), 1);
        client.close();
      },
      { graphqlLimits: { maxOperationsPerSocket: 2 } },
    ));

  it('counts as a request when it is executed, not when it joins one that runs', () =>
    withGraphql(
      async ({ start, port, tenant }) => {
        const client = await connected(port, tenant.secret);
        const id = await start();
        for (let at = 0; at < 10; at++) await client.values(client.subscribe(WATCH, { id }), 1);
        expect((await client.ended(client.subscribe(WHO))).type).toBe('complete');
        for (const query of [WHO, WATCH]) {
          const { type, payload } = await client.ended(client.subscribe(query));
          expect(type).toBe('error');
          expect(payload[0].extensions).toEqual({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });
        }
        client.close();
      },
      { readLimitPerMinute: 2 },
    ));

  it('that fails inside is masked, and logged with the id that it tells', () =>
    withGraphql(
      async ({ start, port, tenant, logged }) => {
        const client = await connected(port, tenant.secret);
        const id = await start();
        const query = client.subscribe('query ($id: ID!) { crawl(id: $id) { id } }', { id });
        const { payload } = await client.message((message) => message.id === query);
        const withSite = client.subscribe('subscription ($id: ID) { crawlUpdated(id: $id) { site { id } } }', { id });
        const update = await client.message((message) => message.id === withSite);
        for (const { message, extensions } of [payload.errors[0], update.payload.errors?.[0] ?? update.payload[0]]) {
          expect(message).not.toContain('secret detail');
          expect(extensions.code).toBe('internal_error');
          const line = logged.find(({ requestId }) => requestId === extensions.requestId);
          expect(line).toMatchObject({ msg: 'unexpected error', err: { message: 'secret detail' } });
        }
        client.close();
      },
      {
        wrapStore: (store) => ({
          ...store,
          getCrawl: () => Promise.reject(new Error('secret detail')),
          getSites: () => Promise.reject(new Error('secret detail')),
        }),
      },
    ));
});

describe('what is no message', () => {
  it.each([
    ['what is no JSON', 'nonsense', 4400],
    ['a list', [], 4400],
    ['no type', {}, 4400],
    ['an unknown type', { type: 'start' }, 4400],
    ["a server's message", { type: 'next', id: '1', payload: {} }, 4400],
    ['a query that is no text', { type: 'subscribe', id: '1', payload: { query: 7 } }, 4400],
    ['an empty id', { type: 'subscribe', id: '', payload: { query: WHO } }, 4400],
    ['variables that are a list', { type: 'subscribe', id: '1', payload: { query: WHO, variables: [] } }, 4400],
    ['a binary frame', Buffer.from(JSON.stringify({ type: 'ping' })), 1003],
    ['a message that is too long', { type: 'ping', payload: { huge: 'x'.repeat(100 * 1024) } }, 1009],
    [
      'an operation that is too long by far',
      { type: 'subscribe', id: '1', payload: { query: WHO, variables: { huge: 'x'.repeat(800 * 1024) } } },
      1009,
    ],
  ])('%s closes the socket', (_name, message, code) =>
    withGraphql(async ({ port, tenant, logged }) => {
      const client = await connected(port, tenant.secret);
      client.send(message);
      expect(await codeOf(client)).toBe(code);
      expect(logged.filter(({ level }) => level === 'error')).toEqual([]);
    }),
  );

  it('of which one is too long is told the limit and its length', () =>
    withGraphql(async ({ port, tenant }) => {
      const client = await connected(port, tenant.secret);
      client.send(`{"type":"ping","payload":"${'x'.repeat(102_400)}"}`);
      expect(await client.closed).toEqual({ code: 1009, reason: 'The message is 102428 bytes long; at most 102400 are allowed.' });
    }));

  it('a ping is answered, before and after the beginning', () =>
    withGraphql(async ({ port }) => {
      const client = await openSocket(port);
      client.send({ type: 'ping', payload: { at: 1 } });
      expect(await client.message(() => true)).toEqual({ type: 'pong', payload: { at: 1 } });
      client.close();
    }));
});

describe('the end of a socket', () => {
  it('comes with the revoking of its key, within five seconds', () => {
    const timers = manualTimers();
    return withGraphql(
      async ({ start, port, tenant, newTenant, store }) => {
        const other = await newTenant({ organizationId: tenant.organizationId });
        const id = await start();
        const [client, stays] = [await connected(port, tenant.secret), await connected(port, other.secret)];
        await client.values(client.subscribe(WATCH, { id }), 1);
        await stays.values(stays.subscribe(WATCH, { id }), 1);
        await store.revokeKey(tenant.keyId);
        await timers.advance(5_000);
        expect((await client.closed).code).toBe(4403);
        await stays.values(stays.subscribe(WHO), 1);
        stays.close();
      },
      { timers },
    );
  });

  it.each([
    ['revoked', null],
    ['narrowed', ['metrics' as const]],
  ])('comes at once when a key that was %s begins an operation, and nothing that others were told reaches it', async (_name, scopes) => {
    let lost = false;
    const wrapStore = (store: Store): Store => ({
      ...store,
      async findKeyBySecret(secretHash) {
        const key = await store.findKeyBySecret(secretHash);
        return !lost || key === null ? key : scopes === null ? null : { ...key, scopes };
      },
    });
    await withGraphql(
      async ({ start, port, tenant, call }) => {
        const id = await start();
        for (const query of ['subscription { crawlUpdated { id } }', WATCH, WHO]) {
          const [watching, joining] = [await connected(port, tenant.secret), await connected(port, tenant.secret)];
          await watching.values(watching.subscribe(WATCH, { id }), 1);
          watching.subscribe('subscription { crawlUpdated { id } }');
          await watching.values(watching.subscribe(WHO), 1);
          lost = true;
          const operation = joining.subscribe(query, query === WATCH ? { id } : {});
          expect(await Promise.all([watching, joining].map(codeOf))).toEqual([4403, 4403]);
          expect(joining.of(operation)).toEqual([]);
          lost = false;
          while ((await call('GET', '/v1/ping')).status !== 200); // what was found out is remembered for a second
        }
      },
      { wrapStore },
    );
  });

  it('does not wait for a peer that never answers the close', () =>
    withGraphql(async ({ port }) => {
      const began = performance.now();
      const socket = connect(port, '127.0.0.1', () =>
        socket.write(
          'GET /graphql HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n',
        ),
      );
      socket.resume();
      await once(socket, 'close');
      const took = performance.now() - began; // three seconds for the beginning, five for the close
      expect(took).toBeGreaterThan(2_900);
      expect(took).toBeLessThan(25_000); // that of ws alone would be thirty
    }));

  it('comes to a peer that is gone without a word, and not to one that is only quiet', () => {
    const timers = manualTimers();
    return withGraphql(
      async ({ port, tenant, call }) => {
        const [gone, quiet] = [await connected(port, tenant.secret), await connected(port, tenant.secret)];
        const { _socket: wire } = gone.socket as unknown as { _socket: { pause(): void; resume(): void } };
        wire.pause();
        for (let pings = 0; pings < 3; pings++) {
          await timers.advance(30_000);
          // there and back twice: the quiet one's answer has arrived by then
          for (let calls = 0; calls < 2; calls++) await call('GET', '/healthz');
        }
        wire.resume();
        expect((await gone.closed).code).toBe(1006);
        await quiet.values(quiet.subscribe(WHO), 1);
        quiet.close();
      },
      { timers },
    );
  });

  it('by the stop of the server is 1001, and its operations are not told that they ended', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const client = await connected(graphql.port, graphql.tenant.secret);
      const operations = [client.subscribe(WATCH, { id }), client.subscribe(WATCH)];
      await client.values(operations[0] ?? '', 1);
      await graphql.server.stop({ deadlineMs: 1_000 });
      expect((await client.closed).code).toBe(1001);
      expect(operations.flatMap((operation) => client.of(operation)).every(({ type }) => type === 'next')).toBe(true);
      await expect(openSocket(graphql.port)).rejects.toThrow('ECONNREFUSED');
    }));

  it('by the stop does not wait for a peer that does not answer', () =>
    withGraphql(async ({ port, tenant, server }) => {
      const client = await connected(port, tenant.secret);
      (client.socket as unknown as { _socket: { pause(): void } })._socket.pause();
      const began = performance.now();
      await server.stop({ deadlineMs: 300 });
      expect(performance.now() - began).toBeLessThan(4_500); // the peer has five seconds to answer the close
      client.socket.terminate();
    }));
});

describe('a client of graphql-ws', () => {
  it('reads, watches and ends', () =>
    withGraphql(async (graphql) => {
      const id = await graphql.start();
      const client = createClient({
        url: `ws://127.0.0.1:${graphql.port}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { Authorization: `Bearer ${graphql.tenant.secret}` },
        lazy: true,
      });
      const updates = client.iterate<{ crawlUpdated: { version: number } }>({ query: WATCH, variables: { id } });
      expect((await updates.next()).value?.data?.crawlUpdated.version).toBe(1);
      await finishAndTell(graphql);
      const rest: (number | undefined)[] = [];
      for await (const { data } of updates) rest.push(data?.crawlUpdated.version);
      expect(rest.length).toBeGreaterThan(0);
      const missing = client.iterate({ query: WATCH, variables: { id: randomUUID() } });
      await expect(missing.next()).rejects.toMatchObject([{ extensions: { code: 'not_found' } }]);
      await client.dispose();
    }));
});

async function finishAndTell({ finish, bus, store, tenant }: TestGraphql): Promise<void> {
  const snapshot = await store.getCrawl(tenant.organizationId, await finish());
  if (snapshot !== null) await bus.publish(snapshot);
}
