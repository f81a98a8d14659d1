import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseNetwork } from '#domain/address.ts';
import { createAddressGuard } from './address-guard.ts';
import { createFetchPage, type NoResponse, type Response } from './fetch-page.ts';
import { DEFAULT_LIMITS } from './limits.ts';

/** What a server does with each request of a connection, from 0 on. */
type Answering = (socket: Socket, request: number, connection: number) => void;

async function open(answering: Answering, host = '127.0.0.1') {
  const heads: string[] = [];
  let connections = 0;
  const server = createServer((socket) => {
    const connection = connections++;
    let received = '';
    let requests = 0;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        heads.push(received.slice(0, end));
        received = received.slice(end + 4);
        answering(socket, requests++, connection);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const guard = createAddressGuard({
    allowNetworks: ['127.0.0.0/8', '::1/128'].map(parseNetwork),
    connectMs: 1_000,
    lookup: async () => [{ address: host, family: 4 }],
  });
  const limits = { ...DEFAULT_LIMITS, headersMs: 1_000 };
  const { fetchPage, close } = createFetchPage({ guard, limits, userAgent: 'crawlgate/0', now: Date.now });
  onTestFinished(async () => {
    await close();
    server.close();
  });
  const wanted = { bytes: () => 10_000, sniff: () => true };
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}/a?b`);
  return {
    heads,
    connections: () => connections,
    fetch: (signal = new AbortController().signal): Promise<Response | NoResponse> => fetchPage(url, wanted, signal),
  };
}

const whole = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\nbody';
const ended =
  (bytes: string): Answering =>
  (socket) =>
    void socket.end(Buffer.from(bytes, 'latin1'));

describe('an answer that is no HTTP to the letter', () => {
  it.each([
    ['has a folded header', 'HTTP/1.1 200 OK\r\nX-Policy: one;\r\n  two\r\nContent-Length: 4\r\n\r\nbody'],
    ['ends its lines in LF alone', 'HTTP/1.1 200 OK\nContent-Length: 4\n\nbody'],
    ['has control characters in a header', 'HTTP/1.1 200 OK\r\nX-Odd: \x01\x00\r\nContent-Length: 4\r\n\r\nbody'],
    ['has a length beside its chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n'],
    ['comes after a 100 that nobody asked for', `HTTP/1.1 100 Continue\r\n\r\n${whole}`],
  ])('and %s is read as browsers read it', async (_, bytes) => {
    const { fetch, connections } = await open(ended(bytes));
    expect(await fetch()).toMatchObject({ kind: 'response', status: 200, body: Buffer.from('body'), truncated: false });
    expect(connections()).toBe(2);
    // What is known of the origin spares the request that cannot be read.
    expect(await fetch()).toMatchObject({ kind: 'response', status: 200 });
    expect(connections()).toBe(3);
  });

  it('has each value of a header that was sent twice, and is asked for with the same request', async () => {
    const { fetch, heads } = await open(
      ended('HTTP/1.1 302 Found\nX-Robots-Tag: otherbot: none\nX-Robots-Tag: nofollow\nLocation: /caf\xc3\xa9\n\n'),
      '::1',
    );
    expect(await fetch()).toMatchObject({ status: 302, location: '/café', robotsTags: ['otherbot: none', 'nofollow'] });
    const [first, second] = heads.map((head) =>
      head
        .split('\r\n')
        .filter((line) => !/^connection:/i.test(line))
        .sort(),
    );
    expect(second).toEqual(first);
  });

  it('is told to be none when nobody could read it', async () => {
    const { fetch, connections } = await open(ended('SSH-2.0-OpenSSH_9.0\r\n\r\n'));
    expect(await fetch()).toMatchObject({
      kind: 'none',
      reason: expect.stringMatching(/^127\.0\.0\.1:\d+ answered with something that is not HTTP \(Expected HTTP/),
    });
    expect(connections()).toBe(2);
  });

  it('of more headers than are taken is given up', async () => {
    const { fetch } = await open(ended(`HTTP/1.1 200 OK\nX-Huge: ${'h'.repeat(100_000)}\n\n`));
    expect(await fetch()).toMatchObject({ kind: 'none', reason: expect.stringContaining('answered with more than 64 KiB of headers.') });
  });

  it('ends with the signal, as any other', async () => {
    const stop = new AbortController();
    const { fetch } = await open((socket, _, connection) => {
      if (connection === 0) socket.end('HTTP/1.1 200 OK\n\n');
      else stop.abort(new Error('enough'));
    });
    await expect(fetch(stop.signal)).rejects.toThrow('enough');
  });
});

/** undici gives a connection out again one turn after its answer has ended. */
const kept = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('a connection that is not kept as it was promised', () => {
  it.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => void socket.end()],
    ['reset', (socket) => void socket.resetAndDestroy()],
  ])('and is %s with the next request on it, costs no page', async (_, close) => {
    const { fetch, heads, connections } = await open((socket, request) => void (request === 0 ? socket.write(whole) : close(socket)));
    for (let page = 0; page < 4; page++) {
      expect(await fetch()).toMatchObject({ kind: 'response', status: 200, body: Buffer.from('body') });
      await kept();
    }
    expect([heads.length, connections()]).toEqual([6, 4]);
  });

  it('is replaced once: what breaks both lies at the page, and not at how many connections there are', async () => {
    const { fetch, connections } = await open((socket, request, connection) => {
      if (request === 0 && connection === 0) socket.write(whole);
      else socket.resetAndDestroy();
    });
    expect(await fetch()).toMatchObject({ status: 200 });
    await kept();
    expect(await fetch()).toMatchObject({ kind: 'none', dropped: false });
    expect(connections()).toBe(2);
    expect(await fetch()).toMatchObject({ kind: 'none', dropped: true });
  });

  it('is not replaced when it never brought anything', async () => {
    const { fetch, connections } = await open((socket) => void socket.resetAndDestroy());
    expect(await fetch()).toMatchObject({ kind: 'none', reason: expect.stringContaining('closed the connection without an answer.') });
    expect(connections()).toBe(1);
  });

  it('is not replaced when it was given up for its time', async () => {
    const { fetch, connections } = await open((socket, request) => void (request === 0 && socket.write(whole)));
    expect(await fetch()).toMatchObject({ status: 200 });
    await kept();
    expect(await fetch()).toMatchObject({ kind: 'none', reason: expect.stringContaining('did not answer within 1 second.') });
    expect(connections()).toBe(1);
  });
});
