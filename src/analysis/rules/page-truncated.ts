import { pageRule } from '../rule.ts';

export const pageTruncated = pageRule({
  id: 'page.truncated',
  severity: 'medium',
  title: 'Page could not be read to its end',
  why: 'The connection broke off, or the page was still arriving after 30 seconds or 5 MiB. Visitors may see a part of it; what was missing was not checked.',
  fix: 'Check that the whole page arrives, and in time: timeouts and size limits of the server, of proxies and of the application.',
  check: ({ httpStatus, truncated, bytes }) => (httpStatus === 200 && truncated ? [{ bytes }] : []),
});
