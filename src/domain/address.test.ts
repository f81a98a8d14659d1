import { describe, expect, test } from 'vitest';
import { BLOCKED_PORTS, ipLiteralOf, isAllowedAddress, parseNetwork } from './address.ts';

const allowed = (address: string, ...networks: string[]): boolean => isAllowedAddress(address, networks.map(parseNetwork));

describe('an address', () => {
  test.each([
    ['1.1.1.1'],
    ['8.8.8.8'],
    ['100.63.255.255'],
    ['100.128.0.0'],
    ['172.15.255.255'],
    ['172.32.0.0'],
    ['192.167.255.255'],
    ['223.255.255.255'],
    ['2606:4700:4700::1111'],
    ['::ffff:8.8.8.8'],
  ])('%s is public', (address) => {
    expect(allowed(address)).toBe(true);
  });

  test.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.0'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared (CGNAT)', '100.64.0.1'],
    ['shared (CGNAT)', '100.127.255.255'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.255'],
    ['link-local', '169.254.169.254'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['benchmarking', '198.18.0.1'],
    ['benchmarking', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped private, in hexadecimal', '::ffff:c0a8:101'],
    ['mapped private, written out', '0:0:0:0:0:ffff:0a00:0001'],
    ['compatible loopback', '::127.0.0.1'],
    ['compatible loopback, as a URL tells it', '::7f00:1'],
    ['compatible private, as a URL tells it', '::a00:1'],
    ['translated loopback', '::ffff:0:127.0.0.1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fdff::1'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['Teredo', '2001::1'],
    ['6to4', '2002:7f00:1::'],
    ['NAT64', '64:ff9b::10.0.0.1'],
    ['local NAT64', '64:ff9b:1::1'],
    ['discard', '100::1'],
    ['dummy', '100:0:0:1::1'],
    ['not allocated', '4000::1'],
  ])('that is %s is refused: %s', (_, address) => {
    expect(allowed(address)).toBe(false);
  });

  test.each(['', 'example.com', '1.2.3.4.5', '256.1.1.1', '1.2.3.4/8', ' 8.8.8.8'])('"%s" is none, and refused', (text) => {
    expect(allowed(text, '0.0.0.0/0', '::/0')).toBe(false);
  });
});

describe('an allowed network', () => {
  test('opens the private addresses in it, and no others', () => {
    expect(allowed('10.1.2.3', '10.1.0.0/16')).toBe(true);
    expect(allowed('10.2.2.3', '10.1.0.0/16')).toBe(false);
    expect(allowed('fd00::5', 'fd00::/64', '10.0.0.0/8')).toBe(true);
    expect(allowed('::1', '127.0.0.0/8')).toBe(false);
    expect(allowed('::1', '::1/128')).toBe(true);
  });

  test('of IPv4 opens its addresses in their IPv6 form too', () => {
    expect(allowed('::ffff:127.0.0.1', '127.0.0.0/8')).toBe(true);
    expect(allowed('::ffff:10.0.0.1', '127.0.0.0/8')).toBe(false);
  });

  test('may be a single address', () => {
    expect(parseNetwork('192.168.0.7').cidr).toBe('192.168.0.7/32');
    expect(parseNetwork('::1').cidr).toBe('::1/128');
    expect(allowed('192.168.0.7', '192.168.0.7')).toBe(true);
    expect(allowed('192.168.0.8', '192.168.0.7')).toBe(false);
  });

  test('closes nothing that is public', () => {
    expect(allowed('8.8.8.8', '10.0.0.0/8')).toBe(true);
  });

  test.each([
    '',
    'localhost',
    '10.0.0.0/33',
    '::/129',
    '10.0.0/8',
    '010.0.0.0/8',
    '0x0a.0.0.0/8',
    '167772160',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '300.0.0.0/8',
    '10.0.0.0/8/8',
  ])('"%s" is refused by name', (text) => {
    expect(() => parseNetwork(text)).toThrow(new TypeError(`"${text}" is not a network in CIDR form, such as 10.0.0.0/8`));
  });
});

describe('the host of a URL', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
    ['example.com', null],
    ['localhost', null],
    ['1.example', null],
  ])('%s is the literal %s', (hostname, literal) => {
    expect(ipLiteralOf(hostname)).toBe(literal);
  });
});

test('the blocked ports are those at which fetch itself gives up', async () => {
  for (const port of [...BLOCKED_PORTS].filter((each) => each !== 0)) {
    await expect(fetch(`http://127.0.0.1:${port}/`), `port ${port}`).rejects.toMatchObject({ cause: { message: 'bad port' } });
  }
});
