import { pageRule } from '../rule.ts';

/** For one HTML document; good servers begin to answer within 0.8 s (web.dev, TTFB), and a busy crawl may add some of its own. */
const MOST_MS = 3_000;

export const pageSlow = pageRule({
  id: 'page.slow',
  severity: 'medium',
  title: 'Page takes more than 3 seconds to arrive',
  why: 'Visitors wait before images and scripts have even begun to load; search engines fetch fewer pages of a slow site.',
  fix: 'Look at what the server does for this address: slow queries, missing caches. Where it was only busy with the crawl, crawl at a lower rate.',
  check: ({ httpStatus, facts, durationMs }) =>
    httpStatus === 200 && facts !== null && durationMs !== null && durationMs > MOST_MS ? [{ durationMs }] : [],
});
