import { describe, expect, test } from 'vitest';
import { parseNetwork } from './address.ts';
import { MAX_URL_LENGTH } from './page.ts';
import { authorityOf, hostOf, pageUrl, parseStartUrl, portOf, targetOf } from './url.ts';

const wrongOf = (text: string, ...networks: string[]): string | null => {
  const read = parseStartUrl(text, networks.map(parseNetwork));
  return 'wrong' in read ? read.wrong : null;
};

describe('a start URL', () => {
  test.each([
    ['https://example.com', { url: 'https://example.com/', host: 'example.com', authority: 'example.com' }],
    ['HTTP://Example.COM:80/A?b#c', { url: 'http://example.com/A?b', host: 'example.com', authority: 'example.com' }],
    ['http://example.com:8080/', { url: 'http://example.com:8080/', host: 'example.com', authority: 'example.com:8080' }],
    ['https://example.com:80/', { url: 'https://example.com:80/', host: 'example.com', authority: 'example.com:80' }],
    ['https://example.com/#', { url: 'https://example.com/', host: 'example.com', authority: 'example.com' }],
    ['https://example.com/?#', { url: 'https://example.com/?', host: 'example.com', authority: 'example.com' }],
    [
      'https://müller.example/ü',
      { url: 'https://xn--mller-kva.example/%C3%BC', host: 'xn--mller-kva.example', authority: 'xn--mller-kva.example' },
    ],
    [
      'https://例え.テスト/',
      { url: 'https://xn--r8jz45g.xn--zckzah/', host: 'xn--r8jz45g.xn--zckzah', authority: 'xn--r8jz45g.xn--zckzah' },
    ],
    ['http://8.8.8.8/', { url: 'http://8.8.8.8/', host: '8.8.8.8', authority: '8.8.8.8' }],
    [
      'http://[2606:4700::1111]:8080/',
      { url: 'http://[2606:4700::1111]:8080/', host: '[2606:4700::1111]', authority: '[2606:4700::1111]:8080' },
    ],
  ])('%s is read as the fetch standard reads it', (text, expected) => {
    expect(parseStartUrl(text, [])).toEqual(expected);
  });

  test.each([
    ['ftp://example.com/', 'must be an http or https URL, not ftp:'],
    ['file:///etc/passwd', 'must be an absolute http or https URL'],
    ['javascript:alert(1)', 'must be an absolute http or https URL'],
    ['example.com', 'must be an absolute http or https URL'],
    ['/relative', 'must be an absolute http or https URL'],
    ['//example.com/', 'must be an absolute http or https URL'],
    ['', 'must be an absolute http or https URL'],
    ['http://', 'must be an absolute http or https URL'],
    ['http://exa mple.com/', 'must be an absolute http or https URL'],
    ['http://1.2.3.4.5/', 'must be an absolute http or https URL'],
    ['https://user@example.com/', 'must not contain credentials'],
    ['https://:secret@example.com/', 'must not contain credentials'],
    ['http://example.com:25/', 'must not use port 25, which the Fetch Standard blocks'],
    ['http://example.com:0/', 'must not use port 0, which the Fetch Standard blocks'],
    ['http://example.com:6667/', 'must not use port 6667, which the Fetch Standard blocks'],
  ])('%s is refused', (text, wrong) => {
    expect(wrongOf(text)).toBe(wrong);
  });

  test.each([
    ['http://127.0.0.1/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://0177.0.0.1/', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://127.1/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://１２７.0.0.1/', '127.0.0.1'],
    ['http://0/', '0.0.0.0'],
    ['http://10.0.0.1:8080/', '10.0.0.1'],
    ['http://169.254.169.254/latest/meta-data', '169.254.169.254'],
    ['http://[::1]/', '[::1]'],
    ['http://[::]/', '[::]'],
    ['http://[::ffff:127.0.0.1]/', '[::ffff:7f00:1]'],
    ['http://[::ffff:a9fe:a9fe]/', '[::ffff:a9fe:a9fe]'],
    ['http://[fe80::1]/', '[fe80::1]'],
    ['http://[fd00::1]/', '[fd00::1]'],
    ['http://[64:ff9b::7f00:1]/', '[64:ff9b::7f00:1]'],
    ['http://[2002:7f00:1::]/', '[2002:7f00:1::]'],
  ])('%s is refused as the non-public address that it is', (text, address) => {
    expect(wrongOf(text)).toBe(`must not be the non-public address ${address}`);
  });

  test('of an allowed network is accepted, and only of that one', () => {
    expect(wrongOf('http://127.0.0.1:8080/', '127.0.0.0/8')).toBeNull();
    expect(wrongOf('http://[::ffff:127.0.0.1]:8080/', '127.0.0.0/8')).toBeNull();
    expect(wrongOf('http://10.0.0.1/', '127.0.0.0/8')).not.toBeNull();
    expect(wrongOf('http://127.0.0.1:25/', '127.0.0.0/8')).toContain('port 25');
  });

  // the authority of such a site was longer than a cursor may be: the list of sites could not be read beyond it
  test('with a host name that is longer than any that resolves is refused', () => {
    expect(wrongOf(`http://${'a.'.repeat(1_000)}com/`)).toBe('must have a host name of at most 254 characters');
    expect(wrongOf(`http://${'a.'.repeat(125)}com./`)).toBeNull();
  });

  test('of 2,048 characters is accepted; longer as given, or once serialized, is refused', () => {
    const base = 'https://example.com/';
    expect(wrongOf(base.padEnd(MAX_URL_LENGTH, 'a'))).toBeNull();
    expect(wrongOf(base.padEnd(MAX_URL_LENGTH + 1, 'a'))).toBe('must be at most 2048 characters');
    expect(wrongOf(base.padEnd(3_000, 'a'))).toBe('must be at most 2048 characters');
    expect(wrongOf(base.padEnd(1_000, 'ü'))).toBe('must be at most 2048 characters');
  });
});

describe('a link', () => {
  const BASE = new URL('https://example.com/a/b?c');

  test.each([
    ['d', 'https://example.com/a/d'],
    ['/d#e', 'https://example.com/d'],
    ['', 'https://example.com/a/b?c'],
    ['#top', 'https://example.com/a/b?c'],
    ['#', 'https://example.com/a/b?c'],
    ['?d', 'https://example.com/a/b?d'],
    ['../..//x', 'https://example.com//x'],
    ['//other.example', 'https://other.example/'],
    ['http://example.com:80/', 'http://example.com/'],
    ['  /d\n ', 'https://example.com/d'],
    ['/%7Euser/ä', 'https://example.com/%7Euser/%C3%A4'],
    ['https://EXAMPLE.com/A', 'https://example.com/A'],
  ])('"%s" leads to %s', (reference, expected) => {
    expect(pageUrl(reference, BASE)?.href).toBe(expected);
  });

  test.each([
    'mailto:a@example.com',
    'javascript:void(0)',
    'data:text/html,x',
    'ftp://example.com/',
    'tel:1',
    'http://',
    'https://u@example.com/',
    'https://:p@example.com/',
    'blob:https://example.com/x',
  ])('%s leads to no page', (reference) => {
    expect(pageUrl(reference, BASE)).toBeNull();
  });

  test('longer than 2,048 characters leads to no page, unless its fragment alone makes it so', () => {
    expect(pageUrl(`/${'a'.repeat(MAX_URL_LENGTH)}`, BASE)).toBeNull();
    expect(pageUrl(`/x#${'a'.repeat(MAX_URL_LENGTH)}`, BASE)?.href).toBe('https://example.com/x');
  });

  test('without a base leads nowhere unless it is absolute', () => {
    expect(pageUrl('/x')).toBeNull();
    expect(pageUrl('https://example.com')?.href).toBe('https://example.com/');
  });
});

describe('the parts of a URL', () => {
  test.each(['/', '/?', '/a%20b?c=/d?', '//x'])('the target of a request keeps %s as it is', (target) => {
    expect(targetOf(new URL(`https://example.com:8443${target}`))).toBe(target);
    expect(targetOf(new URL(`http://[::1]${target}`))).toBe(target);
  });
  test('host is without port, authority with one that is not the default', () => {
    const url = new URL('https://example.com:8443/');
    expect([hostOf(url), authorityOf(url), portOf(url)]).toEqual(['example.com', 'example.com:8443', 8443]);
    expect([portOf(new URL('http://e.example')), portOf(new URL('https://e.example'))]).toEqual([80, 443]);
  });
});
