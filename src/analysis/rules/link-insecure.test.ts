import { expect, test } from 'vitest';
import { errorPage, findingsOf, page, queued, redirected } from '../fixtures/pages.ts';
import { linkInsecure } from './link-insecure.ts';

const toHttps = (seq: number, httpStatus = 301) =>
  redirected(seq, `https://example.com/${seq}`, { url: `http://example.com/${seq}`, httpStatus });

test('links to an http address that redirects to https are one finding on it', () => {
  const pages = [page(0, { links: [1, 2] }), page(1, { links: [2] }), toHttps(2)];
  expect(findingsOf(linkInsecure, pages)).toEqual([
    {
      page: pages[2],
      evidence: {
        target: 'http://example.com/2',
        status: 301,
        redirectUrl: 'https://example.com/2',
        linkCount: 2,
        linkedFrom: ['https://example.com/0', 'https://example.com/1'],
      },
    },
  ]);
});

test('the kind of redirect and www make no difference', () => {
  const toWww = redirected(2, 'https://www.example.com/', { url: 'http://example.com/' });
  expect(findingsOf(linkInsecure, [page(0, { links: [1, 2] }), toHttps(1, 307), toWww])).toHaveLength(2);
});

test('a start URL by http that nothing links to is not found', () => {
  expect(findingsOf(linkInsecure, [toHttps(0), page(1, { links: [] })])).toEqual([]);
});

test('http pages that answer, are broken, were not asked for or lead to another site or to http are not found', () => {
  const url = 'http://example.com/1';
  const others = [page(1, { url }), errorPage(1, 404, { url }), queued(1, { url })];
  const redirects = ['https://partner.example/', 'http://example.com/2'].map((target) => redirected(1, target, { url }));
  for (const one of [...others, ...redirects]) expect(findingsOf(linkInsecure, [page(0, { links: [1] }), one])).toEqual([]);
});
