import { pageRule } from '../rule.ts';

export const httpClientError = pageRule({
  id: 'http.client_error',
  severity: 'medium',
  title: 'Page answers with a client error',
  why: 'Visitors see an error instead of content, and search engines drop the page.',
  fix: 'Restore the page, redirect its address to where the content is now, or remove what leads to it.',
  identifiedBy: ['status'],
  check: ({ httpStatus }) => (httpStatus !== null && httpStatus >= 400 && httpStatus < 500 ? [{ status: httpStatus }] : []),
});
