import { groupPages } from '../group-pages.ts';
import { listedFacts, siteRule } from '../rule.ts';

/** One finding of the site, since links are, as a rule, missing in a template. The start page of a site of one page needs none. */
export const pageDeadEnd = siteRule({
  id: 'page.dead_end',
  severity: 'low',
  title: 'Pages link to no other page',
  why: 'Visitors who come to them from a search can only go back. Links that only JavaScript brings are not counted.',
  fix: 'Put the links of the site on them, at least one to the start page.',
  begin: () =>
    groupPages({
      by: (page) => {
        const { seq, depth, links, otherLinks, linksTruncated } = page;
        const hasLink = linksTruncated || otherLinks.length > 0 || links.some((target) => target !== seq);
        return depth > 0 && !hasLink && listedFacts(page) !== null ? '' : null;
      },
      atLeast: 1,
    }),
});
