import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '#crawler/limits.ts';
import { blocked, errorPage, failed, page, queued, redirected } from '../fixtures/pages.ts';
import { pageTruncated } from './page-truncated.ts';

test('a page that was cut off is found, with how much of it was read', () => {
  expect(pageTruncated.check(page(1, { truncated: true, bytes: 4_096 }))).toEqual([{ bytes: 4_096 }]);
});

test('the bounds that it names are those of the crawler', () => {
  expect(pageTruncated.why).toContain(` ${DEFAULT_LIMITS.pageMs / 1_000} seconds or ${DEFAULT_LIMITS.bodyBytes / 1024 ** 2} MiB`);
});

test('a page that was read to its end keeps the rule', () => {
  expect(pageTruncated.check(page(1))).toEqual([]);
});

test('a document that is not wanted to its end, an error page and what has no body are not found', () => {
  const image = page(1, { contentType: 'image/png', facts: null, bytes: 65_536 });
  for (const one of [
    image,
    errorPage(1, 500, { truncated: true }),
    redirected(1, 'https://example.com/2'),
    failed(1),
    blocked(1),
    queued(1),
  ])
    expect(pageTruncated.check(one)).toEqual([]);
});
