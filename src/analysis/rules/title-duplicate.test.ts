import { expect, test } from 'vitest';
import type { PageFacts } from '#domain/page.ts';
import { errorPage, facts, findingsOf, page, redirected } from '../fixtures/pages.ts';
import { titleDuplicate } from './title-duplicate.ts';

const titled = (seq: number, title: string, more: Partial<PageFacts> = {}) => page(seq, { facts: facts({ title, ...more }) });

test('pages of one title are one finding of the site, in the order of their discovery', () => {
  const pages = [titled(0, 'Home'), titled(1, 'Shop'), titled(2, 'Home'), titled(3, 'About'), titled(4, 'Home')];
  expect(findingsOf(titleDuplicate, pages)).toEqual([
    {
      page: null,
      evidence: { title: 'Home', pageCount: 3, pages: ['https://example.com/0', 'https://example.com/2', 'https://example.com/4'] },
    },
  ]);
});

test('different titles, and titles that differ in case, are not duplicates', () => {
  expect(findingsOf(titleDuplicate, [titled(0, 'Home'), titled(1, 'home'), titled(2, 'Shop')])).toEqual([]);
});

test('pages without a title are not duplicates of each other', () => {
  expect(findingsOf(titleDuplicate, [titled(0, ''), titled(1, '')])).toEqual([]);
});

test('error pages, redirects and noindex pages neither make nor join a group', () => {
  const pages = [
    titled(0, 'Not found'),
    errorPage(1, 404),
    errorPage(2, 404),
    redirected(3, 'https://example.com/0'),
    titled(4, 'Not found', { noindex: true }),
  ];
  expect(findingsOf(titleDuplicate, pages)).toEqual([]);
});

test('a variant that names another page as canonical is not found; one that names itself is', () => {
  const variant = titled(1, 'Shop', { canonical: 'https://example.com/0' });
  expect(findingsOf(titleDuplicate, [titled(0, 'Shop'), variant])).toEqual([]);
  const own = titled(2, 'Shop', { canonical: 'https://example.com/2' });
  expect(findingsOf(titleDuplicate, [titled(0, 'Shop'), variant, own])).toMatchObject([{ evidence: { pageCount: 2 } }]);
});

test.each(['/news?page=2', '/news?sort=new&Page=3', '/news/page/2/', '/news/page-4', '/news?offset=20&sort=new'])(
  'a further page of a list (%s) may be called like the first one',
  (path) => {
    const further = { ...titled(1, 'News'), url: `https://example.com${path}` };
    expect(findingsOf(titleDuplicate, [titled(0, 'News'), further])).toEqual([]);
  },
);

test.each(['/?page=contact', '/homepage/2', '/page/about', '/?page_id=2', '/news?page=2x'])('%s is no further page of a list', (path) => {
  expect(findingsOf(titleDuplicate, [titled(0, 'News'), { ...titled(1, 'News'), url: `https://example.com${path}` }])).toHaveLength(1);
});

test('on a copy of a site, pages that name the same page of the published one are not duplicates; others are', () => {
  const copy = (seq: number, canonical: string) => ({ ...titled(seq, 'Shop', { canonical }), url: `http://localhost:3000/${seq}` });
  const published = (path: string) => `https://example.com/${path}`;
  expect(findingsOf(titleDuplicate, [copy(0, published('shop')), copy(1, published('shop'))])).toEqual([]);
  expect(findingsOf(titleDuplicate, [copy(0, published('shop')), copy(1, published('shop')), copy(2, published('sale'))])).toMatchObject([
    { evidence: { pages: ['http://localhost:3000/0', 'http://localhost:3000/2'] } },
  ]);
});

test('a large group names ten pages and tells how many there are', () => {
  const pages = Array.from({ length: 250 }, (_, seq) => titled(seq, 'Untitled'));
  const [finding, ...more] = findingsOf(titleDuplicate, pages);
  expect(more).toEqual([]);
  expect(finding?.evidence.pageCount).toBe(250);
  expect(finding?.evidence.pages).toHaveLength(10);
});

test('an endless title is compared and told by its first 300 characters', () => {
  const [finding] = findingsOf(titleDuplicate, [titled(0, `${'x'.repeat(300)}one`), titled(1, `${'x'.repeat(300)}two`)]);
  expect(finding?.evidence.title).toBe('x'.repeat(300));
});

test('two crawls do not share state', () => {
  expect(findingsOf(titleDuplicate, [titled(0, 'Home')])).toEqual([]);
  expect(findingsOf(titleDuplicate, [titled(0, 'Home')])).toEqual([]);
});
