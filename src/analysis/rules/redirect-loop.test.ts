import { expect, test } from 'vitest';
import { findingsOf, page, redirected } from '../fixtures/pages.ts';
import { redirectLoop } from './redirect-loop.ts';

const url = (seq: number) => `https://example.com/${seq}`;

test('redirects that lead in a circle are one finding, with the way round', () => {
  const pages = [redirected(0, url(1)), redirected(1, url(2)), redirected(2, url(0))];
  expect(findingsOf(redirectLoop, pages)).toEqual([{ page: pages[0], evidence: { redirectCount: 3, loop: [url(0), url(1), url(2)] } }]);
});

test('it is on the same page whichever of them the crawl came to first', () => {
  const pages = [
    redirected(0, 'https://example.com/a', { url: 'https://example.com/b' }),
    redirected(1, 'https://example.com/b', { url: 'https://example.com/a' }),
  ];
  expect(findingsOf(redirectLoop, pages)).toEqual([
    { page: pages[1], evidence: { redirectCount: 2, loop: ['https://example.com/a', 'https://example.com/b'] } },
  ]);
});

test('a page that redirects to itself is a circle', () => {
  expect(findingsOf(redirectLoop, [page(0), redirected(1, url(1))])).toMatchObject([{ evidence: { redirectCount: 1, loop: [url(1)] } }]);
});

test('what leads into a circle is not told as well, and two circles are two findings', () => {
  const pages = [redirected(0, url(1)), redirected(1, url(2)), redirected(2, url(1)), redirected(3, url(3)), redirected(4, url(0))];
  expect(findingsOf(redirectLoop, pages).map(({ evidence }) => evidence.loop)).toEqual([[url(1), url(2)], [url(3)]]);
});

test('redirects that come to an end are no circle', () => {
  const pages = [redirected(0, url(1)), redirected(1, url(2)), page(2), redirected(3, url(1)), redirected(4, 'https://partner.example/')];
  expect(findingsOf(redirectLoop, pages)).toEqual([]);
});

test('of a circle of thousands ten pages are named', () => {
  const [finding, ...more] = findingsOf(
    redirectLoop,
    Array.from({ length: 3_000 }, (_, seq) => redirected(seq, url((seq + 1) % 3_000))),
  );
  expect(more).toEqual([]);
  expect(finding?.evidence.redirectCount).toBe(3_000);
  expect(finding?.evidence.loop).toHaveLength(10);
});
