import { expect, test } from 'vitest';
import type { PageWithLinks } from '#domain/page.ts';
import { blocked, errorPage, facts, failed, findingsOf, page, queued, redirected } from '../fixtures/pages.ts';
import { canonicalBroken } from './canonical-broken.ts';

const url = (seq: number) => `https://example.com/${seq}`;
const naming = (seq: number, canonical: string) => page(seq, { facts: facts({ canonical }) });

test('the pages that name a broken page as canonical are one finding on that page', () => {
  const pages = [naming(0, url(2)), naming(1, url(2)), errorPage(2, 404), naming(3, url(3))];
  expect(findingsOf(canonicalBroken, pages)).toEqual([
    { page: pages[2], evidence: { target: url(2), problem: 'it is broken', status: 404, pageCount: 2, namedBy: [url(0), url(1)] } },
  ]);
});

const UNFIT: readonly (readonly [string, number | null, PageWithLinks])[] = [
  ['it is broken', 500, errorPage(0, 500)],
  ['it is broken', null, failed(0)],
  ['it redirects', 301, redirected(0, url(1))],
  ['it has noindex', 200, page(0, { facts: facts({ noindex: true }) })],
  ['robots.txt blocks it', null, blocked(0)],
];
test.each(UNFIT)('a canonical page is no use when %s (%s)', (problem, status, target) => {
  expect(findingsOf(canonicalBroken, [target, naming(1, url(0))])).toMatchObject([{ page: target, evidence: { problem, status } }]);
});

test('pages that name themselves, a page that may be listed, or none keep the rule', () => {
  expect(findingsOf(canonicalBroken, [naming(0, url(0)), naming(1, url(0)), page(2)])).toEqual([]);
});

test('of pages that were not crawled, or not asked for, nothing is known', () => {
  const unfollowed = { ...blocked(1), reason: 'Every link to it is nofollow.' };
  expect(findingsOf(canonicalBroken, [queued(0), unfollowed, naming(2, url(0)), naming(3, url(1)), naming(4, url(99))])).toEqual([]);
});

test('what error pages and noindex pages name as canonical is not judged', () => {
  const pages = [errorPage(0, 404), errorPage(1, 404, { facts: facts({ canonical: url(0) }) })];
  expect(findingsOf(canonicalBroken, [...pages, page(2, { facts: facts({ canonical: url(0), noindex: true }) })])).toEqual([]);
});

test('a whole site that names one broken page is one finding that names ten of its pages', () => {
  const pages = [errorPage(0, 404), ...Array.from({ length: 200 }, (_, index) => naming(index + 1, url(0)))];
  const [finding, ...more] = findingsOf(canonicalBroken, pages);
  expect(more).toEqual([]);
  expect(finding?.evidence.pageCount).toBe(200);
  expect(finding?.evidence.namedBy).toHaveLength(10);
});
