import { expect, test } from 'vitest';
import { blocked, errorPage, failed, findingsOf, page, redirected } from '../fixtures/pages.ts';
import { linkBrokenInternal } from './link-broken-internal.ts';

test('links to a page that answers 404 are one finding on that page, with the pages they are on', () => {
  const pages = [page(0, { links: [1, 2] }), page(1, { links: [0, 2] }), errorPage(2, 404)];
  expect(findingsOf(linkBrokenInternal, pages)).toEqual([
    {
      page: pages[2],
      evidence: {
        target: 'https://example.com/2',
        status: 404,
        reason: null,
        linkCount: 2,
        linkedFrom: ['https://example.com/0', 'https://example.com/1'],
      },
    },
  ]);
});

test('links to a page that answers 500 or does not answer are found, the latter with its reason', () => {
  const pages = [page(0, { links: [1, 2] }), errorPage(1, 500), failed(2, 'example.com refused the connection.')];
  expect(findingsOf(linkBrokenInternal, pages).map(({ evidence }) => evidence)).toMatchObject([
    { status: 500, reason: null, linkCount: 1 },
    { status: null, reason: 'example.com refused the connection.', linkCount: 1 },
  ]);
});

test('links to working, redirecting and blocked pages are not found', () => {
  const pages = [page(0, { links: [1, 2, 3] }), page(1), redirected(2, 'https://example.com/1'), blocked(3)];
  expect(findingsOf(linkBrokenInternal, pages)).toEqual([]);
});

test('a broken page that nothing links to, or only itself, is not a broken link', () => {
  expect(findingsOf(linkBrokenInternal, [errorPage(0, 404, { links: [0] }), failed(1)])).toEqual([]);
});

test('a link found before its target is known to be broken counts as much as one found after', () => {
  const pages = [page(0, { links: [1] }), errorPage(1, 404), page(2, { links: [1] })];
  expect(findingsOf(linkBrokenInternal, pages)).toMatchObject([{ evidence: { linkCount: 2 } }]);
});

test('a broken link in the menu of every page is one finding that names ten of them', () => {
  const pages = [errorPage(0, 410), ...Array.from({ length: 400 }, (_, index) => page(index + 1, { links: [0] }))];
  const [finding, ...more] = findingsOf(linkBrokenInternal, pages);
  expect(more).toEqual([]);
  expect(finding?.evidence.linkCount).toBe(400);
  expect(finding?.evidence.linkedFrom).toHaveLength(10);
});
