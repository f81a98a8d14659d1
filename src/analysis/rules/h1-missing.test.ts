import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { h1Missing } from './h1-missing.ts';

test('a page without a main heading is found', () => {
  expect(h1Missing.check(page(1, { facts: facts({ h1Count: 0 }) }))).toEqual([{}]);
});

test('a page with one main heading or more keeps the rule', () => {
  for (const h1Count of [1, 4]) expect(h1Missing.check(page(1, { facts: facts({ h1Count }) }))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(h1Missing.check(make(1, facts({ h1Count: 0 })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(h1Missing.check(page(1, { facts: { ...facts({ h1Count: 0 }), canonical: 'https://published.example/1' } }))).toHaveLength(1);
});

test('a page of which links were left out is not found: it may have been read in part only', () => {
  expect(h1Missing.check(page(1, { linksTruncated: true, facts: facts({ h1Count: 0 }) }))).toEqual([]);
});
