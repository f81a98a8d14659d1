import { groupDuplicates } from '../group-pages.ts';
import { siteRule } from '../rule.ts';

export const titleDuplicate = siteRule({
  id: 'title.duplicate',
  severity: 'medium',
  title: 'Several pages have the same title',
  why: 'Readers of search results and tabs cannot tell the pages apart, and search engines may list only one of them.',
  fix: 'Give each page a title of its own, or name the one to list by <link rel="canonical"> on the others.',
  identifiedBy: ['title'],
  begin: () => groupDuplicates('title'),
});
