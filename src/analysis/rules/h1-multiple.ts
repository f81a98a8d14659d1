import { listedFacts, pageRule } from '../rule.ts';

export const h1Multiple = pageRule({
  id: 'h1.multiple',
  severity: 'low',
  title: 'Page has several main headings',
  why: 'HTML allows it, but who goes through a page by its headings, as users of screen readers do, cannot tell which one names its content.',
  fix: 'Keep the <h1> that names the content of this page, and make the others <h2> or lower.',
  check(page) {
    const h1Count = listedFacts(page)?.h1Count ?? 0;
    return h1Count > 1 ? [{ h1Count }] : [];
  },
});
