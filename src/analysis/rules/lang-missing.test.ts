import { expect, test } from 'vitest';
import { facts, findingsOf, page, UNLISTED } from '../fixtures/pages.ts';
import { langMissing } from './lang-missing.ts';

const spoken = (seq: number, lang: string | null) => page(seq, { facts: facts({ lang }) });

test('all pages that do not name their language are one finding of the site', () => {
  expect(findingsOf(langMissing, [spoken(0, null), spoken(1, 'en'), spoken(2, '')])).toEqual([
    { page: null, evidence: { pageCount: 2, pages: ['https://example.com/0', 'https://example.com/2'] } },
  ]);
});

test('of many pages it names ten and tells how many there are', () => {
  const [finding, ...more] = findingsOf(
    langMissing,
    Array.from({ length: 500 }, (_, seq) => spoken(seq, null)),
  );
  expect(more).toEqual([]);
  expect(finding?.evidence.pageCount).toBe(500);
  expect(finding?.evidence.pages).toHaveLength(10);
});

test('pages that name a language keep the rule, also by a wrong name', () => {
  expect(findingsOf(langMissing, [spoken(0, 'de'), spoken(1, 'english')])).toEqual([]);
});

test('a page that is served as XHTML is not found: it may name its language by xml:lang', () => {
  expect(findingsOf(langMissing, [{ ...spoken(0, null), contentType: 'application/xhtml+xml; charset=utf-8' }])).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(findingsOf(langMissing, [page(0), make(1, facts({ lang: null })), make(2, facts({ lang: null }))])).toEqual([]);
});
