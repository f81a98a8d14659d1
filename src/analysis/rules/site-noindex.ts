import { MAX_SAMPLES, siteRule } from '../rule.ts';

/** Only where it is all of the crawl: single pages are kept out of search results for good reasons. */
export const siteNoindex = siteRule({
  id: 'site.noindex',
  severity: 'medium',
  title: 'All pages ask to be kept out of search results',
  why: 'Search engines that keep to it list no page of this crawl: each has noindex in its meta robots or in X-Robots-Tag.',
  fix: 'Remove noindex from what is to be found, when it was left over from a version for tests; on such a version it is right.',
  begin() {
    const seqs: number[] = [];
    let hidden = 0;
    let listed = 0;
    return {
      page({ seq, httpStatus, facts }) {
        if (httpStatus !== 200 || facts === null) return;
        if (!facts.noindex) listed++;
        else if (hidden++ < MAX_SAMPLES) seqs.push(seq);
      },
      *end() {
        if (listed > 0 || hidden === 0) return;
        yield { seqs, tell: (pages) => ({ page: null, evidence: { pageCount: hidden, pages: pages.map(({ url }) => url) } }) };
      },
    };
  },
});
