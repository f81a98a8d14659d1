import { expect, test } from 'vitest';
import { blocked, errorPage, failed, page, redirected } from '../fixtures/pages.ts';
import { httpNoResponse } from './http-no-response.ts';

test('a page without a response is found, with the reason', () => {
  const reason = 'example.com did not answer within 15 seconds.';
  expect(httpNoResponse.check(failed(2, reason))).toEqual([{ reason }]);
});

test('whatever answered, even with an error or cut off, and what was never asked for is not found', () => {
  for (const one of [page(1), errorPage(1, 503), page(1, { truncated: true }), redirected(1, 'https://example.com/'), blocked(1)])
    expect(httpNoResponse.check(one)).toEqual([]);
});
