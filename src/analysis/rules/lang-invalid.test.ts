import { expect, test } from 'vitest';
import { facts, findingsOf, page, UNLISTED } from '../fixtures/pages.ts';
import { langInvalid } from './lang-invalid.ts';

const spoken = (seq: number, lang: string | null) => page(seq, { facts: facts({ lang }) });

test('the pages of one wrong language are one finding, and those of another one another', () => {
  expect(findingsOf(langInvalid, [spoken(0, 'en_US'), spoken(1, 'english'), spoken(2, 'en_US')])).toEqual([
    { page: null, evidence: { lang: 'en_US', pageCount: 2, pages: ['https://example.com/0', 'https://example.com/2'] } },
    { page: null, evidence: { lang: 'english', pageCount: 1, pages: ['https://example.com/1'] } },
  ]);
});

test.each(['english', 'en_US', 'e', 'en-', 'en us', '{{lang}}', 'x', 'de-Österreich', 'en-abcdefghi'])('%s is no language tag', (lang) => {
  expect(findingsOf(langInvalid, [spoken(0, lang)])).toHaveLength(1);
});

test.each([
  'en',
  'EN',
  'de-AT',
  'pt-br',
  'zh-Hant-TW',
  'gsw',
  'es-419',
  'sl-rozaj-biske-1994',
  'de-CH-1996',
  'x-klingon',
  'i-enochian',
  'en-x-twain',
])('%s is a language tag', (lang) => {
  expect(findingsOf(langInvalid, [spoken(0, lang)])).toEqual([]);
});

test('a page that names no language is not found', () => {
  expect(findingsOf(langInvalid, [spoken(0, null), spoken(1, '')])).toEqual([]);
});

test.each(UNLISTED)('%s is not found', (_, make) => {
  expect(findingsOf(langInvalid, [page(0), make(1, facts({ lang: 'english' })), make(2, facts({ lang: 'english' }))])).toEqual([]);
});
