import { expect, test } from 'vitest';
import { blocked, errorPage, failed, findingsOf, page, queued, redirected } from '../fixtures/pages.ts';
import { redirectBroken } from './redirect-broken.ts';

const url = (seq: number) => `https://example.com/${seq}`;

test('redirects to a page that answers 404 are one finding on that page, with the addresses that lead there', () => {
  const pages = [redirected(0, url(2)), redirected(1, url(0)), errorPage(2, 404)];
  expect(findingsOf(redirectBroken, pages)).toEqual([
    { page: pages[2], evidence: { target: url(2), status: 404, reason: null, redirectCount: 2, redirectedFrom: [url(0), url(1)] } },
  ]);
});

test('a target that does not answer is told with the reason', () => {
  expect(findingsOf(redirectBroken, [failed(0, 'example.com refused the connection.'), redirected(1, url(0))])).toMatchObject([
    { evidence: { status: null, reason: 'example.com refused the connection.', redirectCount: 1 } },
  ]);
});

test('many addresses that lead to one broken page are one finding that names ten of them', () => {
  const pages = [errorPage(0, 410), ...Array.from({ length: 300 }, (_, index) => redirected(index + 1, url(0)))];
  const [finding, ...more] = findingsOf(redirectBroken, pages);
  expect(more).toEqual([]);
  expect(finding?.evidence.redirectCount).toBe(300);
  expect(finding?.evidence.redirectedFrom).toHaveLength(10);
});

test('redirects to pages that answer, are blocked, were not asked for or are of another site are not found', () => {
  const targets = [page(0), blocked(1), queued(2)];
  const pages = [...targets, ...targets.map((_, seq) => redirected(seq + 3, url(seq))), redirected(6, 'https://partner.example/')];
  expect(findingsOf(redirectBroken, pages)).toEqual([]);
});

test('broken pages that no redirect leads to, and circles, are not found', () => {
  expect(findingsOf(redirectBroken, [errorPage(0, 404), redirected(1, url(2)), redirected(2, url(1))])).toEqual([]);
});
