import { listedFacts, pageRule } from '../rule.ts';

export const h1Missing = pageRule({
  id: 'h1.missing',
  severity: 'low',
  title: 'Page has no main heading',
  why: 'Visitors see by the main heading whether they are where they wanted to be, and users of screen readers often go to it first.',
  fix: 'Mark up the heading that names the content of this page as <h1>.',
  // when links were left out, the page may have been read in part only
  check: (page) => (listedFacts(page)?.h1Count === 0 && !page.linksTruncated ? [{}] : []),
});
