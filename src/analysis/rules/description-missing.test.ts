import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { descriptionMissing } from './description-missing.ts';

test('a page without a description, or with an empty one, is found', () => {
  for (const description of [null, '']) expect(descriptionMissing.check(page(1, { facts: facts({ description }) }))).toEqual([{}]);
});

test('a page with a description keeps the rule', () => {
  expect(descriptionMissing.check(page(1))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(descriptionMissing.check(make(1, facts({ description: null })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(
    descriptionMissing.check(page(1, { facts: { ...facts({ description: null }), canonical: 'https://published.example/1' } })),
  ).toHaveLength(1);
});
