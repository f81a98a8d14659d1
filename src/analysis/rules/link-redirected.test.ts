import { expect, test } from 'vitest';
import { findingsOf, page, redirected } from '../fixtures/pages.ts';
import { linkRedirected } from './link-redirected.ts';

const NEW = 'https://example.com/new';

test('links to a page that has moved for good are one finding on it, with where it is now', () => {
  const pages = [page(0, { links: [1, 2] }), page(1, { links: [2] }), redirected(2, NEW), redirected(3, NEW, { httpStatus: 308 })];
  expect(findingsOf(linkRedirected, pages)).toEqual([
    {
      page: pages[2],
      evidence: {
        target: 'https://example.com/2',
        status: 301,
        redirectUrl: NEW,
        linkCount: 2,
        linkedFrom: ['https://example.com/0', 'https://example.com/1'],
      },
    },
  ]);
});

test.each([302, 303, 307])('a temporary redirect (%i), such as to a login, is meant to be linked to', (httpStatus) => {
  expect(findingsOf(linkRedirected, [page(0, { links: [1] }), redirected(1, NEW, { httpStatus })])).toEqual([]);
});

test('an address that leads to another site is not found; one that leads from apex to www is', () => {
  expect(findingsOf(linkRedirected, [page(0, { links: [1] }), redirected(1, 'https://partner.example/shop')])).toEqual([]);
  expect(findingsOf(linkRedirected, [page(0, { links: [1] }), redirected(1, 'https://www.example.com/1')])).toHaveLength(1);
});

test('what only redirects from http to https is left to link.insecure', () => {
  const insecure = redirected(1, 'https://example.com/1', { url: 'http://example.com/1' });
  expect(findingsOf(linkRedirected, [page(0, { links: [1] }), insecure])).toEqual([]);
});

test('a redirect that nothing links to, such as of the start URL, and links to other pages are not found', () => {
  expect(findingsOf(linkRedirected, [redirected(0, NEW), page(1, { links: [2] }), page(2, { links: [1] })])).toEqual([]);
});
