import type { Page } from '#domain/page.ts';
import { groupPages } from '../group-pages.ts';
import { listedFacts, siteRule } from '../rule.ts';

/** What is served as XHTML may name its language by `xml:lang` instead, which is not read. */
const isXhtml = ({ contentType }: Page): boolean => /^\s*application\/xhtml\+xml\b/i.test(contentType ?? '');

/** One finding of the site, since the element that lacks it is, as a rule, in one template. */
export const langMissing = siteRule({
  id: 'lang.missing',
  severity: 'medium',
  title: 'Pages do not say which language they are in',
  why: 'Screen readers may then read them in the voice of another language, and browsers have to guess whether to offer a translation.',
  fix: 'Name the language of each page in its first element, such as <html lang="en">.',
  begin: () =>
    groupPages({
      by: (page) => {
        const facts = listedFacts(page);
        return facts !== null && (facts.lang ?? '') === '' && !isXhtml(page) ? '' : null;
      },
      atLeast: 1,
    }),
});
