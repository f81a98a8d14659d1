import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { h1Multiple } from './h1-multiple.ts';

test('a page with several main headings is found, with their number', () => {
  expect(h1Multiple.check(page(1, { facts: facts({ h1Count: 3 }) }))).toEqual([{ h1Count: 3 }]);
});

test('a page with one main heading, or none, keeps the rule', () => {
  for (const h1Count of [0, 1]) expect(h1Multiple.check(page(1, { facts: facts({ h1Count }) }))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(h1Multiple.check(make(1, facts({ h1Count: 2 })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(h1Multiple.check(page(1, { facts: { ...facts({ h1Count: 2 }), canonical: 'https://published.example/1' } }))).toHaveLength(1);
});
