import { expect, test } from 'vitest';
import { facts, page, UNLISTED } from '../fixtures/pages.ts';
import { imageAltMissing } from './image-alt-missing.ts';

test('a page with images that have no alt is found, with their number', () => {
  expect(imageAltMissing.check(page(1, { facts: facts({ imagesWithoutAlt: 7 }) }))).toEqual([{ imagesWithoutAlt: 7 }]);
});

test('a page whose images all have an alt keeps the rule', () => {
  expect(imageAltMissing.check(page(1, { facts: facts({ imagesWithoutAlt: 0 }) }))).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(imageAltMissing.check(make(1, facts({ imagesWithoutAlt: 1 })))).toEqual([]);
});

test('a page of a copy for tests, whose canonical is on the published site, is found', () => {
  expect(
    imageAltMissing.check(page(1, { facts: { ...facts({ imagesWithoutAlt: 1 }), canonical: 'https://published.example/1' } })),
  ).toHaveLength(1);
});
