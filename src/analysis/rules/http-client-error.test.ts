import { expect, test } from 'vitest';
import { blocked, errorPage, failed, page, redirected } from '../fixtures/pages.ts';
import { httpClientError } from './http-client-error.ts';

test.each([400, 401, 403, 404, 410, 429, 499])('a page that answers %i is found, with its status', (status) => {
  expect(httpClientError.check(errorPage(3, status))).toEqual([{ status }]);
});

test.each([200, 204, 399, 500, 503])('a page that answers %i is not a client error', (status) => {
  expect(httpClientError.check(errorPage(3, status))).toEqual([]);
});

test('redirected, failed, blocked and queued pages are no client errors', () => {
  const queued = page(1, { status: 'queued', httpStatus: null, facts: null });
  for (const one of [redirected(1, 'https://example.com/2'), failed(1), blocked(1), queued]) expect(httpClientError.check(one)).toEqual([]);
});

test('a document that is not HTML counts as well', () => {
  expect(httpClientError.check(page(1, { httpStatus: 404, contentType: 'application/pdf', facts: null }))).toEqual([{ status: 404 }]);
});
