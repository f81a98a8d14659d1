import { isFurtherPage } from '../addresses.ts';
import { groupPages } from '../group-pages.ts';
import { listedFacts, siteRule } from '../rule.ts';

/** A visitor who has to follow more links than this from the start will search instead; the crawl's own default ends before. */
const MOST_CLICKS = 5;

/** One finding of the site: what mends it is a shorter way for all of them. The further pages of a list lie deep by their nature. */
export const pageDeep = siteRule({
  id: 'page.deep',
  severity: 'low',
  title: 'Pages are more than 5 links away from the start of the crawl',
  why: 'Few visitors get that far, and search engines find such pages later.',
  fix: 'Link to what matters from pages nearer to the start: overviews, categories, lists with more entries a page.',
  begin: () =>
    groupPages({
      by: (page) => (page.depth > MOST_CLICKS && !isFurtherPage(page.url) && listedFacts(page) !== null ? '' : null),
      atLeast: 1,
    }),
});
