import { expect, test } from 'vitest';
import { facts, findingsOf, page, UNLISTED } from '../fixtures/pages.ts';
import { pageDeep } from './page-deep.ts';

test('all pages that are more than 5 links away are one finding of the site', () => {
  expect(findingsOf(pageDeep, [page(0, { depth: 0 }), page(1, { depth: 5 }), page(2, { depth: 6 }), page(3, { depth: 40 })])).toEqual([
    { page: null, evidence: { pageCount: 2, pages: ['https://example.com/2', 'https://example.com/3'] } },
  ]);
});

test('a site that keeps within 5 links has no finding', () => {
  expect(findingsOf(pageDeep, [page(0, { depth: 0 }), page(1, { depth: 5 })])).toEqual([]);
});

test('the tenth page of a list is not found, but what only it links to is', () => {
  const pages = [page(1, { url: 'https://example.com/news?page=10', depth: 9 }), page(2, { depth: 10 })];
  expect(findingsOf(pageDeep, pages)).toMatchObject([{ evidence: { pages: ['https://example.com/2'] } }]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(findingsOf(pageDeep, [{ ...make(1, facts()), depth: 9 }])).toEqual([]);
});
