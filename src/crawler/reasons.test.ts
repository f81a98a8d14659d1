import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parseNetwork } from '#domain/address.ts';
import { createAddressGuard } from './address-guard.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import { noResponseReason } from './reasons.ts';

const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  // 100::/64 is for what is to be thrown away (RFC 6666).
  'dead-ipv6.test': ['100::1', '127.0.0.1'],
};

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Why there is no connection to `hostname`. */
const reasonOf = (protocol: string, hostname: string, port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const guard = createAddressGuard({
      allowNetworks: ['127.0.0.0/8', '100::/64'].map(parseNetwork),
      connectMs: 5_000,
      lookup: async (name) => (ADDRESSES[name] ?? ['127.0.0.1']).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    });
    guard.connect({ hostname, host: hostname, protocol, port: String(port) }, (error, socket) => {
      socket?.destroy();
      if (error === null) reject(new Error('there was a connection'));
      else resolve(noResponseReason(error, hostname, DEFAULT_LIMITS));
    });
  });

describe('why a certificate or a TLS server is no use', () => {
  const trusted = tls.getCACertificates('default');
  let folder: string;
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'crawlgate-tls-'));
    openssl('req', '-x509', ...EC, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=ca', '-days', '30');
    const issue = (name: string, extension: string, by: string): void => {
      openssl('req', ...EC, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`, '-addext', extension);
      openssl(...`x509 -req -in ${name}.csr -CA ${by}.pem -CAkey ${by}.key -out ${name}.pem -days 30 -copy_extensions copy`.split(' '));
    };
    issue('other', 'subjectAltName=DNS:www.other.test,IP:10.1.2.3,DNS:*.other.test,DNS:other.test,DNS:4.test', 'ca');
    issue('between', 'basicConstraints=critical,CA:TRUE', 'ca');
    issue('leaf', 'subjectAltName=DNS:site.test', 'between');
    openssl(
      ...'req -x509 -newkey rsa:1024 -nodes -keyout short.key -out short.pem -subj /CN=x -days 9 -addext'.split(' '),
      'subjectAltName=DNS:site.test',
    );
    tls.setDefaultCACertificates([...trusted, read('ca.pem'), read('short.pem')]);
  });
  afterAll(() => {
    tls.setDefaultCACertificates(trusted);
    rmSync(folder, { recursive: true });
  });
  const serve = (name: string, options: tls.TlsOptions = {}): Promise<number> =>
    listen(tls.createServer({ key: read(`${name}.key`), cert: read(`${name}.pem`), ...options }).on('tlsClientError', () => {}));

  it('names the names that it is for, and no address', async () => {
    expect(await reasonOf('https:', 'site.test', await serve('other'))).toBe(
      'Could not connect to site.test: the certificate is for another name: www.other.test, *.other.test, other.test and 1 more.',
    );
  });
  it('says what its server may have forgotten', async () => {
    expect(await reasonOf('https:', 'site.test', await serve('leaf'))).toBe(
      'Could not connect to site.test: the certificate cannot be verified, as when the server does not send the intermediate certificates.',
    );
  });
  it('says what OpenSSL has against it', async () => {
    expect(await reasonOf('https:', 'site.test', await serve('short', { ciphers: 'DEFAULT@SECLEVEL=0' }))).toBe(
      'Could not connect to site.test: the certificate is refused (EE certificate key too weak).',
    );
  });
  it('says that TLS is too old, or what the other side has against the handshake', async () => {
    const old = await serve('leaf', { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' });
    expect(await reasonOf('https:', 'site.test', old)).toBe(
      'Could not connect to site.test: it offers only versions of TLS that are no longer safe.',
    );
    const strange = await serve('leaf', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-CAMELLIA128-SHA256:@SECLEVEL=0' });
    expect(await reasonOf('https:', 'site.test', strange)).toMatch(
      /^Could not connect to site\.test: the TLS handshake failed \([\w/ ]+\)\.$/,
    );
  });
});

describe('why no address of several can be connected to', () => {
  it('is told by the attempt that was not given up for the next', async () => {
    const server = createServer();
    const port = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect(await reasonOf('http:', 'dead-ipv6.test', port)).toBe('Could not connect to dead-ipv6.test: the connection was refused.');
  });
});
