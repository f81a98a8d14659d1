import { pageRule } from '../rule.ts';

export const httpServerError = pageRule({
  id: 'http.server_error',
  severity: 'high',
  title: 'Page answers with a server error',
  why: 'Visitors see an error instead of content; search engines visit the whole site less often, and drop the page when it lasts.',
  fix: 'Look into the log of the server for this address. Where it was only busy or under maintenance, crawl again.',
  identifiedBy: ['status'],
  check: ({ httpStatus }) => (httpStatus !== null && httpStatus >= 500 ? [{ status: httpStatus }] : []),
});
