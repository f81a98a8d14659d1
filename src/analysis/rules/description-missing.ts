import { listedFacts, pageRule } from '../rule.ts';

export const descriptionMissing = pageRule({
  id: 'description.missing',
  severity: 'low',
  title: 'Page has no description',
  why: 'Search results may show the description below the title; without one they show whatever piece of the page they choose.',
  fix: 'Add a <meta name="description"> that says in one or two sentences what is on this page.',
  check(page) {
    const facts = listedFacts(page);
    return facts !== null && (facts.description ?? '') === '' ? [{}] : [];
  },
});
