import { expect, test } from 'vitest';
import { blocked, errorPage, failed, page, redirected } from '../fixtures/pages.ts';
import { httpServerError } from './http-server-error.ts';

test.each([500, 501, 503, 520, 599])('a page that answers %i is found, with its status', (status) => {
  expect(httpServerError.check(errorPage(3, status))).toEqual([{ status }]);
});

test.each([200, 304, 404, 429, 499])('a page that answers %i is no server error', (status) => {
  expect(httpServerError.check(errorPage(3, status))).toEqual([]);
});

test('redirected, failed, blocked and queued pages are no server errors', () => {
  const queued = page(1, { status: 'queued', httpStatus: null, facts: null });
  for (const one of [redirected(1, 'https://example.com/2'), failed(1), blocked(1), queued]) expect(httpServerError.check(one)).toEqual([]);
});
