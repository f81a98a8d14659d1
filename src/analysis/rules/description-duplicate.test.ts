import { expect, test } from 'vitest';
import { facts, findingsOf, page, UNLISTED } from '../fixtures/pages.ts';
import { descriptionDuplicate } from './description-duplicate.ts';

const described = (seq: number, description: string | null) => page(seq, { facts: facts({ title: `Page ${seq}`, description }) });

test('pages of one description are one finding of the site', () => {
  expect(findingsOf(descriptionDuplicate, [described(0, 'Tea.'), described(1, 'Coffee.'), described(2, 'Tea.')])).toEqual([
    { page: null, evidence: { description: 'Tea.', pageCount: 2, pages: ['https://example.com/0', 'https://example.com/2'] } },
  ]);
});

test('pages without a description, or with an empty one, are not duplicates of each other', () => {
  expect(findingsOf(descriptionDuplicate, [described(0, null), described(1, null), described(2, ''), described(3, '')])).toEqual([]);
});

test('a long description is compared and told by its first 300 characters, and ten of many pages are named', () => {
  const [finding, ...more] = findingsOf(
    descriptionDuplicate,
    Array.from({ length: 30 }, (_, seq) => described(seq, `${'x'.repeat(300)}${seq}`)),
  );
  expect(more).toEqual([]);
  expect(finding?.evidence).toMatchObject({ description: 'x'.repeat(300), pageCount: 30 });
  expect(finding?.evidence.pages).toHaveLength(10);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(
    findingsOf(descriptionDuplicate, [page(0), make(1, facts({ description: 'Tea.' })), make(2, facts({ description: 'Tea.' }))]),
  ).toEqual([]);
});
