import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ERRORS } from '#domain/errors.ts';
import { manualTimers } from '#service/fixtures/manual-timers.ts';
import { exchangeRaw, startHttp, type TestHttp, type TestHttpOptions } from './fixtures/http.ts';

async function withHttp(use: (http: TestHttp) => Promise<void>, options: TestHttpOptions = {}): Promise<void> {
  const http = await startHttp(options);
  try {
    await use(http);
  } finally {
    await http.close();
  }
}
const requestLines = ({ logged }: TestHttp) => logged.filter(({ requestId }) => requestId !== undefined);

describe('health', () => {
  it('is alive without a key, and ready as the process says', () => {
    let ready = false;
    return withHttp(
      async (http) => {
        expect((await http.call('GET', '/healthz', { secret: null })).status).toBe(200);
        const not = await http.call('GET', '/readyz', { secret: null });
        expect([not.status, not.text, not.headers.get('retry-after')]).toStrictEqual([503, 'not ready\n', '5']);
        ready = true;
        expect((await http.call('GET', '/readyz', { secret: null })).status).toBe(200);
      },
      { isReady: () => ready },
    );
  });

  it('is not ready when that cannot be found out', () =>
    withHttp(
      async (http) => {
        expect((await http.call('GET', '/readyz')).status).toBe(503);
      },
      { isReady: () => Promise.reject(new Error('the store is away')) },
    ));
});

describe('problems', () => {
  it('have exactly the members of the contract, and the request id as instance', () =>
    withHttp(async (http) => {
      const { headers, json } = await http.call('GET', '/v1/nothing');
      expect(headers.get('content-type')).toBe('application/problem+json');
      expect(json).toStrictEqual({
        type: `${http.address}/problems/not_found`,
        title: ERRORS.not_found.title,
        status: 404,
        detail: expect.any(String),
        instance: `urn:uuid:${headers.get('x-request-id')}`,
        code: 'not_found',
      });
    }));

  it('say of an address that is none that nothing is there, with or without a key', () =>
    withHttp(async (http) => {
      for (const [path, secret] of [
        ['/nothing', null],
        ['/v1/nothing', http.tenant.secret],
      ] as const) {
        const { status, json } = await http.call('GET', path, { secret });
        expect([path, status, json.code, json.detail]).toStrictEqual([path, 404, 'not_found', 'There is nothing at this address.']);
      }
    }));

  it('have types below PUBLIC_URL', () =>
    withHttp(
      async (http) => {
        expect((await http.call('GET', '/nothing')).json.type).toBe('https://crawl.example/base/problems/not_found');
        expect((await http.call('GET', '/openapi.json')).json.servers).toStrictEqual([{ url: 'https://crawl.example/base' }]);
      },
      { publicUrl: 'https://crawl.example/base/' },
    ));

  it('have a page for each code, and none for others', () =>
    withHttp(async (http) => {
      for (const code of Object.keys(ERRORS)) {
        const { status, text, headers } = await http.call('GET', `/problems/${code}`, { secret: null });
        expect([code, status, headers.get('content-type')]).toStrictEqual([code, 200, 'text/html; charset=utf-8']);
        expect(text).toContain(code);
      }
      for (const code of ['nothing', 'toString', '__proto__']) expect((await http.call('GET', `/problems/${code}`)).status).toBe(404);
    }));

  it('tell nothing of an unexpected error, which the log has under the same id', () =>
    withHttp(
      async (http) => {
        await http.start();
        const finding = { ordinal: 0, fingerprint: 'f', rule: 'r', severity: 'low', pageSeq: null, url: null, evidence: {} } as const;
        const id = await http.finish([{}], [finding]);
        const { status, json, text, headers } = await http.call('GET', `/v1/crawls/${id}/findings`);
        expect([status, json.code]).toStrictEqual([500, 'internal_error']);
        expect(text).not.toContain('inner detail');
        const line = http.logged.find(({ level }) => level === 'error');
        expect(line).toMatchObject({ requestId: headers.get('x-request-id'), err: { message: 'inner detail' } });
      },
      {
        describeRule() {
          throw new Error('inner detail');
        },
      },
    ));

  it('are 503 with Retry-After while the store does not answer, on starts and on reads', () =>
    withHttp(async (http) => {
      await http.call('GET', '/v1/ping'); // the key is known from now on
      await http.store.close();
      for (const [method, path] of [
        ['GET', '/v1/crawls'],
        ['POST', '/v1/crawls'],
      ] as const) {
        const { status, json, headers } = await http.call(method, path, method === 'POST' ? { body: { url: 'https://example.com/' } } : {});
        expect([status, json.code, headers.get('retry-after')]).toStrictEqual([503, 'unavailable', '5']);
      }
    }));
});

describe('every answer', () => {
  it('has a request id of its own and may not be sniffed', () =>
    withHttp(async (http) => {
      const ids = new Set<string | null>();
      for (const path of ['/v1/ping', '/healthz', '/nothing', '/docs', '/openapi.json', '/problems/not_found']) {
        const { headers } = await http.call('GET', path, { headers: { 'x-request-id': 'mine' } });
        expect([path, headers.get('x-content-type-options')]).toStrictEqual([path, 'nosniff']);
        ids.add(headers.get('x-request-id'));
      }
      expect(ids.size).toBe(6);
      expect(ids).not.toContain('mine');
    }));

  it('leaves one line in the log, with the route and without the secret or the query', () =>
    withHttp(async (http) => {
      const { headers } = await http.call('GET', `/v1/crawls?limit=3&token=${http.tenant.secret}`);
      await http.call('GET', `/v1/nothing-${http.tenant.secret}`);
      await http.call('GET', '/v1/ping', { secret: 'a-wrong-secret' });
      await expect.poll(() => requestLines(http)).toHaveLength(3);
      expect(requestLines(http)[0]).toMatchObject({
        level: 'info',
        requestId: headers.get('x-request-id'),
        method: 'GET',
        route: '/v1/crawls',
        status: 400,
        ms: expect.any(Number),
        organizationId: http.tenant.organizationId,
      });
      const text = JSON.stringify(http.logged);
      expect(text).not.toContain(http.tenant.secret);
      expect(text).not.toContain('a-wrong-secret');
    }));
});

describe('the level of a request in the log', () => {
  it('is info, but debug for reads that went well and for health', () =>
    withHttp(async (http) => {
      const calls = [
        ['GET', '/v1/ping'],
        ['GET', '/readyz'],
        ['GET', '/v1/nothing'],
        ['POST', '/v1/nothing'],
      ] as const;
      for (const [index, [method, path]] of calls.entries()) {
        await http.call(method, path);
        await expect.poll(() => requestLines(http)).toHaveLength(index + 1);
      }
      expect(requestLines(http).map(({ level, status }) => [level, status])).toStrictEqual([
        ['debug', 200],
        ['debug', 200],
        ['info', 404],
        ['info', 404],
      ]);
    }));
});

describe('hostile and broken clients', () => {
  it('get 431 for headers beyond the limit', () =>
    withHttp(async (http) => {
      const answer = await exchangeRaw(http.port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    }));

  it('get 400 for what is no HTTP', () =>
    withHttp(async (http) => {
      expect(await exchangeRaw(http.port, 'HELO there\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
      expect((await http.call('GET', '/healthz')).status).toBe(200);
    }));

  it('are cut off when they do not finish their headers', () =>
    withHttp(async (http) => {
      expect(await exchangeRaw(http.port, 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ')).toMatch(/^HTTP\/1\.1 408 /);
    }));

  // a hundred connections without a key, which asked for GraphiQL and read nothing, took 580 MB for as long as they liked
  it('share what they ask for of a page and do not take, and are cut off after 30 s', async () => {
    const timers = manualTimers();
    await withHttp(
      async (http) => {
        const file = '/graphql/graphiql.js';
        const { length } = (await http.call('GET', file, { secret: null })).text;
        const before = process.memoryUsage.rss(); // what waits in a socket is in no heap
        // the second one asks for something short before it, whose answer goes out first
        const requests = Array.from({ length: 20 }, (_, n) => (n === 1 ? ['/healthz', file] : [file]));
        const clients = requests.map((paths) => {
          const socket = connect(http.port, '127.0.0.1');
          socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
          return socket.on('error', () => {});
        });
        await Promise.all(clients.map((socket) => once(socket, 'readable'))); // it has begun to come, and none of it is taken
        const abandoned = () => requestLines(http).filter(({ msg }) => msg === 'request abandoned by its client');
        expect(process.memoryUsage.rss() - before).toBeLessThan(10 * length);
        expect(abandoned()).toStrictEqual([]);
        while (abandoned().length < clients.length) await timers.advance(1_000);
        for (const socket of clients) socket.destroy();
      },
      { timers },
    );
  });

  it('may go away in the middle of a body, and the server goes on', () =>
    withHttp(async (http) => {
      const socket = connect(http.port, '127.0.0.1');
      const head = `POST /v1/crawls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.tenant.secret}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
      socket.write(head, () => socket.resetAndDestroy());
      await expect.poll(() => requestLines(http)).toHaveLength(1);
      expect(requestLines(http)[0]).toMatchObject({ msg: 'request abandoned by its client' });
      expect(http.logged.filter(({ level }) => level === 'error')).toStrictEqual([]);
      expect((await http.call('GET', '/v1/ping')).status).toBe(200);
    }));
});

describe('stop', () => {
  const held = () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    return { isReady: () => promise, release: () => resolve(true) };
  };
  /** Resolves when the server has the request of `path`. */
  const asked = (http: TestHttp, path: string) => {
    const socket = connect(http.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    const closed = once(socket, 'close').then(() => received);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    return { closed, socket };
  };

  it('answers what is under way, closes kept connections, and refuses new ones', async () => {
    const { isReady, release } = held();
    const http = await startHttp({ isReady });
    const idle = connect(http.port, '127.0.0.1');
    const idleClosed = once(idle, 'close');
    idle.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(idle, 'data');
    const { closed } = asked(http, '/readyz');
    await http.call('GET', '/healthz'); // by now the request above has arrived
    const stopped = http.server.stop({ deadlineMs: 5_000 });
    expect(http.server.stop({ deadlineMs: 1 })).toBe(stopped);
    await idleClosed;
    await expect(http.call('GET', '/healthz')).rejects.toThrow('ECONNREFUSED');
    release();
    expect(await closed).toMatch(/^HTTP\/1\.1 200 /);
    await stopped;
    await http.close();
  });

  // a balancer's request met a kept connection that was being closed, and its client got nothing
  it('keeps connections while it drains: not ready, and each answer is the last one of its connection', async () => {
    const http = await startHttp();
    const kept = connect(http.port, '127.0.0.1');
    let received = '';
    kept.on('data', (chunk) => (received += chunk));
    kept.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(() => received).toContain('ok\n');
    http.server.drain();
    expect((await http.call('GET', '/readyz')).status).toBe(503);
    received = '';
    const closed = once(kept, 'close');
    kept.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
    await http.close();
  });

  it('cuts what is still under way at the deadline', async () => {
    const { isReady, release } = held();
    const http = await startHttp({ isReady });
    const { closed } = asked(http, '/readyz');
    await http.call('GET', '/healthz');
    await http.server.stop({ deadlineMs: 50 });
    expect(await closed).toBe('');
    release();
    await http.close();
  });

  it('rejects a listen on a port that is taken', async () => {
    const http = await startHttp();
    const other = await startHttp();
    await other.server.stop({ deadlineMs: 0 });
    await expect(other.server.listen({ host: '127.0.0.1', port: http.port })).rejects.toThrow('EADDRINUSE');
    await other.close();
    await http.close();
  });
});
