import { expect, test } from 'vitest';
import { blocked, errorPage, facts, failed, page, queued, redirected } from '../fixtures/pages.ts';
import { pageSlow } from './page-slow.ts';

test('a page that takes more than 3 seconds is found, with its time', () => {
  expect(pageSlow.check(page(1, { durationMs: 3_001 }))).toEqual([{ durationMs: 3_001 }]);
});

test('a page that visitors wait for counts, whether or not a search engine may list it', () => {
  expect(pageSlow.check(page(1, { durationMs: 9_000, facts: facts({ noindex: true }) }))).toHaveLength(1);
});

test('a page that takes 3 seconds keeps the rule', () => {
  expect(pageSlow.check(page(1, { durationMs: 3_000 }))).toEqual([]);
});

test('error pages, documents that are not HTML, redirects and what gave no response are not found', () => {
  const pdf = page(1, { contentType: 'application/pdf', facts: null });
  for (const one of [errorPage(1, 503), pdf, redirected(1, 'https://example.com/2'), failed(1), blocked(1), queued(1)])
    expect(pageSlow.check({ ...one, durationMs: 20_000 })).toEqual([]);
});

test('the fingerprint does not hang on the time', () => {
  expect(pageSlow.identifiedBy).toBeUndefined();
});
