import type { LookupAddress } from 'node:dns';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseNetwork } from '#domain/address.ts';
import { type AddressGuard, createAddressGuard } from './address-guard.ts';
import { AddressNotAllowed } from './reasons.ts';

const guard = (addresses: Record<string, string[]>, allow: string[] = []): AddressGuard =>
  createAddressGuard({
    allowNetworks: allow.map(parseNetwork),
    connectMs: 1_000,
    lookup: async (hostname) => (addresses[hostname] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  });

/** Where a connection to `hostname` went, or why it did not. */
const connect = ({ connect: open }: AddressGuard, hostname: string, port: number): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    open({ hostname, host: hostname, protocol: 'http:', port: String(port) }, (error, socket) => {
      if (error !== null) return void reject(error);
      resolve(socket?.remoteAddress);
      socket?.destroy();
    });
  });

async function listen(): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => {}).destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

describe('the address guard', () => {
  it.each([
    'http://127.0.0.1/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'http://192.168.1.1/',
    'http://0.0.0.0/',
    'http://100.64.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
    'http://224.0.0.1/',
  ])('refuses the literal %s', (url) => {
    expect(guard({}).refusal(new URL(url))).toMatch(/is not a public address\.$/);
  });

  it('refuses ports that the Fetch Standard blocks', () => {
    expect(guard({}).refusal(new URL('http://example.com:25/'))).toBe('Port 25 of example.com is not allowed.');
    expect(guard({}).refusal(new URL('http://example.com:8080/'))).toBeNull();
  });

  it.each(['127.0.0.1', '10.1.2.3', '::1', '::ffff:10.0.0.1', '64:ff9b::7f00:1'])(
    'refuses a name that resolves to %s, without connecting or naming it',
    async (address) => {
      const error = await connect(guard({ 'example.com': [address] }), 'example.com', 80).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(AddressNotAllowed);
      expect((error as Error).message).toBe('example.com does not resolve to a public address.');
    },
  );

  it('connects to nothing but the allowed ones of the addresses that a name has', async () => {
    const { port, connections } = await listen();
    const both = guard({ 'example.com': ['10.255.255.1', '127.0.0.1'] }, ['127.0.0.0/8']);
    expect(await connect(both, 'example.com', port)).toBe('127.0.0.1');
    await expect(connect(guard({ 'example.com': ['127.0.0.1'] }), 'example.com', port)).rejects.toBeInstanceOf(AddressNotAllowed);
    await expect(connect(guard({}), '127.0.0.1', port)).rejects.toBeInstanceOf(AddressNotAllowed);
    expect(connections()).toBe(1);
  });

  // a site whose name server had fallen silent had a look-up under way for each of its connections, and no other name was looked up
  it('looks a name up once for all who connect meanwhile, and anew for who comes later', async () => {
    const { port } = await listen();
    const asked: PromiseWithResolvers<LookupAddress[]>[] = [];
    const guarded = createAddressGuard({
      allowNetworks: [parseNetwork('127.0.0.1')],
      connectMs: 1_000,
      lookup() {
        const answer = Promise.withResolvers<LookupAddress[]>();
        asked.push(answer);
        return answer.promise;
      },
    });
    const connecting = [connect(guarded, 'slow.example', port), connect(guarded, 'slow.example', port)];
    asked[0]?.resolve([{ address: '127.0.0.1', family: 4 }]);
    expect([await Promise.all(connecting), asked.length]).toEqual([['127.0.0.1', '127.0.0.1'], 1]);
    const later = connect(guarded, 'slow.example', port);
    asked[1]?.resolve([{ address: '10.0.0.1', family: 4 }]);
    await expect(later).rejects.toBeInstanceOf(AddressNotAllowed);
  });

  it('looks a name up once a connection, so that a second answer cannot differ', async () => {
    const { port } = await listen();
    let lookups = 0;
    const rebinding = createAddressGuard({
      allowNetworks: [parseNetwork('127.0.0.1')],
      connectMs: 1_000,
      lookup: async () => (lookups++ === 0 ? [{ address: '127.0.0.1', family: 4 }] : [{ address: '127.0.0.2', family: 4 }]),
    });
    expect(await connect(rebinding, 'example.com', port)).toBe('127.0.0.1');
    expect(lookups).toBe(1);
  });

  it('knows which hosts lie inside the allowed networks with every address', async () => {
    const some = guard({ in: ['10.0.0.1'], both: ['10.0.0.1', '8.8.8.8'], none: [] }, ['10.0.0.0/8']);
    const answers = await Promise.all(['in', 'both', 'none', '10.2.3.4', '[::ffff:10.2.3.4]', '8.8.8.8'].map(some.isInAllowedNetwork));
    expect(answers).toEqual([true, false, false, true, true, false]);
  });
});
