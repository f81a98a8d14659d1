import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { contentThin } from './content-thin.ts';

test('a page with less than 250 characters of text is found, with how many it has', () => {
  expect(contentThin.check(page(1, { facts: facts({ textLength: 249 }) }))).toEqual([{ textLength: 249 }]);
  expect(contentThin.check(page(1, { facts: facts({ textLength: 0 }) }))).toEqual([{ textLength: 0 }]);
});

test('a page with 250 characters of text keeps the rule', () => {
  expect(contentThin.check(page(1, { facts: facts({ textLength: 250 }) }))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(contentThin.check(make(1, facts({ textLength: 249 })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(contentThin.check(page(1, { facts: { ...facts({ textLength: 249 }), canonical: 'https://published.example/1' } }))).toHaveLength(
    1,
  );
});

test('a page of which links were left out is not found: it may have been read in part only', () => {
  expect(contentThin.check(page(1, { linksTruncated: true, facts: facts({ textLength: 249 }) }))).toEqual([]);
});
