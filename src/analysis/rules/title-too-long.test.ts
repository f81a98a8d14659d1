import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { titleTooLong } from './title-too-long.ts';

test('a title of more than 70 characters is found, with its length', () => {
  expect(titleTooLong.check(page(1, { facts: facts({ title: 'x'.repeat(71) }) }))).toEqual([{ title: 'x'.repeat(71), length: 71 }]);
});

test('an endless title is told by its first 300 characters', () => {
  expect(titleTooLong.check(page(1, { facts: facts({ title: 'x'.repeat(2_000) }) }))).toEqual([{ title: 'x'.repeat(300), length: 2_000 }]);
});

test('a title of 70 characters, and none at all, keep the rule', () => {
  for (const title of ['x'.repeat(70), '']) expect(titleTooLong.check(page(1, { facts: facts({ title }) }))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(titleTooLong.check(make(1, facts({ title: 'x'.repeat(71) })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(
    titleTooLong.check(page(1, { facts: { ...facts({ title: 'x'.repeat(71) }), canonical: 'https://published.example/1' } })),
  ).toHaveLength(1);
});
