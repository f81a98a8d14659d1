import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { descriptionTooLong } from './description-too-long.ts';

test('a description of more than 200 characters is found, with its length and its first 300 characters', () => {
  const found = (description: string) => descriptionTooLong.check(page(1, { facts: facts({ description }) }));
  expect(found('x'.repeat(201))).toEqual([{ description: 'x'.repeat(201), length: 201 }]);
  expect(found('x'.repeat(900))).toEqual([{ description: 'x'.repeat(300), length: 900 }]);
});

test('a description of 200 characters, and none at all, keep the rule', () => {
  for (const description of ['x'.repeat(200), '', null])
    expect(descriptionTooLong.check(page(1, { facts: facts({ description }) }))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(descriptionTooLong.check(make(1, facts({ description: 'x'.repeat(201) })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(
    descriptionTooLong.check(page(1, { facts: { ...facts({ description: 'x'.repeat(201) }), canonical: 'https://published.example/1' } })),
  ).toHaveLength(1);
});
