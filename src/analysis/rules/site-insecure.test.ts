import { expect, test } from 'vitest';
import { errorPage, facts, findingsOf, page, redirected } from '../fixtures/pages.ts';
import { siteInsecure } from './site-insecure.ts';

test('pages that are served by http are one finding a host and port', () => {
  const pages = [
    page(0, { url: 'http://example.com/' }),
    page(1, { url: 'https://example.com/1' }),
    page(2, { url: 'http://example.com/2', facts: facts({ noindex: true }) }),
    page(3, { url: 'http://example.com:8080/' }),
  ];
  expect(findingsOf(siteInsecure, pages)).toEqual([
    { page: null, evidence: { host: 'example.com', pageCount: 2, pages: ['http://example.com/', 'http://example.com/2'] } },
    { page: null, evidence: { host: 'example.com:8080', pageCount: 1, pages: ['http://example.com:8080/'] } },
  ]);
});

test('a site that redirects http to https, or is broken there, is not found', () => {
  const url = 'http://example.com/';
  expect(findingsOf(siteInsecure, [redirected(0, 'https://example.com/', { url }), page(1), errorPage(2, 404, { url })])).toEqual([]);
});

test.each([
  'localhost:3000',
  'shop.localhost',
  '127.0.0.1:8000',
  '192.168.1.20',
  '10.0.0.7',
  '[::1]:8080',
  '[fd00::1]',
  'web:3000',
  'nas.local',
  'app.test',
  'wiki.internal',
  'box.lan',
])('a site for tests or of a private network (%s) is not found', (host) => {
  expect(findingsOf(siteInsecure, [page(0, { url: `http://${host}/` })])).toEqual([]);
});

test.each(['example.com', 'local.example.com', '93.184.216.34', '[2606:2800:220:1::1]', 'xn--bcher-kva.example'])(
  'a public site (%s) is found',
  (host) => {
    expect(findingsOf(siteInsecure, [page(0, { url: `http://${host}/` })])).toHaveLength(1);
  },
);
