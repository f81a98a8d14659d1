import { groupPages } from '../group-pages.ts';
import { listedFacts, siteRule } from '../rule.ts';

/** One finding of the site, since the element that lacks it is, as a rule, in one template. */
export const langMissing = siteRule({
  id: 'lang.missing',
  severity: 'medium',
  title: 'Pages do not say which language they are in',
  why: 'Screen readers then read in the voice of another language, and browsers have to guess whether to offer a translation.',
  fix: 'Name the language of each page in its first element, such as <html lang="en">.',
  begin: () =>
    groupPages({
      by: (page) => {
        const facts = listedFacts(page);
        return facts !== null && (facts.lang ?? '') === '' ? '' : null;
      },
      atLeast: 1,
    }),
});
