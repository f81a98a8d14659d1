import { expect, test } from 'vitest';
import { blocked, errorPage, facts, failed, page, redirected } from '../fixtures/pages.ts';
import { titleMissing } from './title-missing.ts';

test('an HTML page that answers 200 without a title is found', () => {
  expect(titleMissing.check(page(1, { facts: facts({ title: '' }) }))).toEqual([{}]);
});

test('a page with a title keeps the rule', () => {
  expect(titleMissing.check(page(1, { facts: facts({ title: 'Prices' }) }))).toEqual([]);
});

test('an error page without a title is not found', () => {
  for (const status of [404, 500]) expect(titleMissing.check(errorPage(1, status, { facts: facts({ title: '' }) }))).toEqual([]);
});

test('a page that is hidden from search by noindex is not found', () => {
  expect(titleMissing.check(page(1, { facts: facts({ title: '', noindex: true }) }))).toEqual([]);
});

test('a page that was cut off is not found: its title may have been still to come', () => {
  expect(titleMissing.check(page(1, { truncated: true, facts: facts({ title: '' }) }))).toEqual([]);
});

test('what is not HTML, redirects, failed and blocked pages need no title', () => {
  const pdf = page(1, { contentType: 'application/pdf', facts: null });
  for (const one of [pdf, redirected(1, 'https://example.com/2'), failed(1), blocked(1)]) expect(titleMissing.check(one)).toEqual([]);
});
