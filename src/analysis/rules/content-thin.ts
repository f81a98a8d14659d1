import { listedFacts, pageRule } from '../rule.ts';

/** About forty words, menus and title included: less than that is not what a visitor comes for. */
const FEWEST_CHARACTERS = 250;

export const contentThin = pageRule({
  id: 'content.thin',
  severity: 'low',
  title: 'Page has hardly any text',
  why: 'Visitors and search engines find little on it. Text that only JavaScript brings is not counted: what renders none does not see it.',
  fix: 'Write what visitors come for, send it in the HTML, or keep the page out of search results by noindex.',
  // when links were left out, the page may have been read in part only
  check(page) {
    const facts = listedFacts(page);
    return facts !== null && facts.textLength < FEWEST_CHARACTERS && !page.linksTruncated ? [{ textLength: facts.textLength }] : [];
  },
});
