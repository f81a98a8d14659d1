import { expect, test } from 'vitest';
import { facts, findingsOf, page, UNLISTED } from '../fixtures/pages.ts';
import { pageDeadEnd } from './page-dead-end.ts';

test('all pages without a link are one finding of the site; a link of a page to itself is none', () => {
  expect(findingsOf(pageDeadEnd, [page(0, { depth: 0 }), page(1), page(2, { links: [] }), page(3, { links: [3] })])).toEqual([
    { page: null, evidence: { pageCount: 2, pages: ['https://example.com/2', 'https://example.com/3'] } },
  ]);
});

test('a link to another site, to what was not crawled, or one that was left out is a link', () => {
  const pages = [page(1, { links: [], otherLinks: ['https://example.com/too/deep'] }), page(2, { links: [], linksTruncated: true })];
  expect(findingsOf(pageDeadEnd, pages)).toEqual([]);
});

test('the only page of a site needs no links', () => {
  expect(findingsOf(pageDeadEnd, [page(0, { depth: 0, links: [] })])).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(findingsOf(pageDeadEnd, [page(0), { ...make(1, facts()), links: [] }])).toEqual([]);
});
