import { groupDuplicates } from '../group-pages.ts';
import { siteRule } from '../rule.ts';

export const descriptionDuplicate = siteRule({
  id: 'description.duplicate',
  severity: 'low',
  title: 'Several pages have the same description',
  why: 'Where search results show it, readers cannot tell by it which of the pages has what they look for.',
  fix: 'Say on each page what is on that page, or leave the description out where there is nothing of its own to say.',
  identifiedBy: ['description'],
  begin: () => groupDuplicates('description'),
});
