import { expect, test } from 'vitest';
import { errorPage, facts, page } from '../fixtures/pages.ts';
import { pageLarge } from './page-large.ts';

const MIB = 1024 * 1024;

test('a page of more than 1 MiB is found, with its size', () => {
  expect(pageLarge.check(page(1, { bytes: MIB + 1 }))).toEqual([{ bytes: MIB + 1 }]);
});

test('a page that was cut because it is too large counts, and so does one that is hidden by noindex', () => {
  expect(pageLarge.check(page(1, { bytes: 5 * MIB, truncated: true }))).toEqual([{ bytes: 5 * MIB }]);
  expect(pageLarge.check(page(1, { bytes: 2 * MIB, facts: facts({ noindex: true }) }))).toHaveLength(1);
});

test('a page of 1 MiB keeps the rule', () => {
  expect(pageLarge.check(page(1, { bytes: MIB }))).toEqual([]);
});

test('error pages and documents that are not HTML are not found', () => {
  for (const one of [errorPage(1, 500), page(1, { contentType: 'application/pdf', facts: null })])
    expect(pageLarge.check({ ...one, bytes: 3 * MIB })).toEqual([]);
});
