import { expect, test } from 'vitest';
import { fingerprintOf } from './fingerprint.ts';
import { httpClientError } from './rules/http-client-error.ts';
import { linkBrokenInternal } from './rules/link-broken-internal.ts';
import { titleDuplicate } from './rules/title-duplicate.ts';

const URL = 'https://example.com/a';

test('a fingerprint is the same in every process and version: changing one would make every known finding a new one', () => {
  expect(fingerprintOf(httpClientError, URL, { status: 404 })).toBe('6d621b37b1a394c63f970e74505484d2');
  expect(fingerprintOf(titleDuplicate, null, { title: 'Home', pageCount: 2, pages: [] })).toBe('1badb188ce7043cf5023050a4c7d11b1');
});

test('rule, page and identifying evidence each make another fingerprint', () => {
  const prints = [
    fingerprintOf(httpClientError, URL, { status: 404 }),
    fingerprintOf(httpClientError, URL, { status: 410 }),
    fingerprintOf(httpClientError, 'https://example.com/b', { status: 404 }),
    fingerprintOf(linkBrokenInternal, URL, { status: 404 }),
    fingerprintOf(httpClientError, null, { status: 404 }),
  ];
  expect(new Set(prints).size).toBe(prints.length);
});

test('counts and samples, which change from crawl to crawl, do not change it', () => {
  const once = fingerprintOf(linkBrokenInternal, URL, { target: URL, status: 404, linkCount: 1, linkedFrom: ['https://example.com/'] });
  expect(fingerprintOf(linkBrokenInternal, URL, { target: URL, status: 404, linkCount: 70, linkedFrom: [] })).toBe(once);
});
