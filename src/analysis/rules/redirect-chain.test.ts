import { expect, test } from 'vitest';
import { errorPage, findingsOf, page, queued, redirected } from '../fixtures/pages.ts';
import { redirectChain } from './redirect-chain.ts';

const url = (seq: number) => `https://example.com/${seq}`;

test('two redirects in a row are a finding on the first address, with all that it leads over', () => {
  const pages = [page(0), redirected(1, url(2)), redirected(2, url(3)), page(3)];
  expect(findingsOf(redirectChain, pages)).toEqual([{ page: pages[1], evidence: { redirectCount: 2, chain: [url(1), url(2), url(3)] } }]);
});

test('a chain is one finding, however long, in whatever order it was found; another way into it is another', () => {
  const pages = [redirected(0, url(1)), redirected(1, url(4)), page(2), redirected(3, url(1)), redirected(4, url(2))];
  expect(findingsOf(redirectChain, pages).map(({ evidence }) => evidence.chain)).toEqual([
    [url(0), url(1), url(4), url(2)],
    [url(3), url(1), url(4), url(2)],
  ]);
});

test('one redirect, to a page, to another site or to what was not asked for, is no chain', () => {
  const pages = [redirected(0, url(1)), page(1), redirected(2, 'https://partner.example/'), redirected(3, url(4)), queued(4)];
  expect(findingsOf(redirectChain, pages)).toEqual([]);
});

test('a chain that ends broken is a chain, too', () => {
  expect(findingsOf(redirectChain, [redirected(0, url(1)), redirected(1, url(2)), errorPage(2, 404)])).toHaveLength(1);
});

test('circles and what leads into them are no chains', () => {
  expect(findingsOf(redirectChain, [redirected(0, url(1)), redirected(1, url(2)), redirected(2, url(1))])).toEqual([]);
});

test('an endless chain is told by its first 10 redirects', () => {
  const pages = Array.from({ length: 5_000 }, (_, seq) => redirected(seq, url(seq + 1)));
  const [finding, ...more] = findingsOf(redirectChain, pages);
  expect(more).toEqual([]);
  expect(finding?.evidence.redirectCount).toBe(10);
  expect(finding?.evidence.chain).toHaveLength(11);
});
