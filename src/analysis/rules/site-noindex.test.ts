import { expect, test } from 'vitest';
import { blocked, errorPage, facts, failed, findingsOf, page, redirected } from '../fixtures/pages.ts';
import { siteNoindex } from './site-noindex.ts';

const hidden = (seq: number) => page(seq, { facts: facts({ noindex: true }) });

test('a site of which every page has noindex is one finding', () => {
  const others = [redirected(2, 'https://example.com/0'), errorPage(3, 404), failed(4), blocked(5)];
  expect(findingsOf(siteNoindex, [hidden(0), hidden(1), ...others])).toEqual([
    { page: null, evidence: { pageCount: 2, pages: ['https://example.com/0', 'https://example.com/1'] } },
  ]);
});

test('of many pages it names ten', () => {
  const [finding] = findingsOf(
    siteNoindex,
    Array.from({ length: 40 }, (_, seq) => hidden(seq)),
  );
  expect(finding?.evidence.pageCount).toBe(40);
  expect(finding?.evidence.pages).toHaveLength(10);
});

test('one page that may be listed is enough: others are kept out for good reasons', () => {
  expect(findingsOf(siteNoindex, [hidden(0), hidden(1), page(2)])).toEqual([]);
});

test('a crawl that got no page at all has no finding', () => {
  expect(findingsOf(siteNoindex, [failed(0), errorPage(1, 404, { facts: facts({ noindex: true }) })])).toEqual([]);
});
