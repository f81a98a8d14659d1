import { indexedFacts, pageRule } from '../rule.ts';

export const titleMissing = pageRule({
  id: 'title.missing',
  severity: 'high',
  title: 'Page has no title',
  why: 'Search results and browser tabs show the title; without one the address stands there.',
  fix: 'Add a <title> of 30 to 60 characters that names what is on this page.',
  // of a page that was cut off nobody knows whether its title was still to come
  check: (page) => (indexedFacts(page)?.title === '' && !page.truncated ? [{}] : []),
});
