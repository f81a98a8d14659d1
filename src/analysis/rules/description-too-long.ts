import { listedFacts, MAX_TEXT_LENGTH, pageRule } from '../rule.ts';

/** Search results show about 160 characters; a few words more are lost without harm. */
const MOST_CHARACTERS = 200;

export const descriptionTooLong = pageRule({
  id: 'description.too_long',
  severity: 'low',
  title: 'Description is longer than search results show',
  why: 'Search results show about 160 characters of a description and cut off the rest.',
  fix: 'Say what matters most first, and shorten the description to about 160 characters.',
  check(page) {
    const description = listedFacts(page)?.description ?? '';
    if (description.length <= MOST_CHARACTERS) return [];
    return [{ description: description.slice(0, MAX_TEXT_LENGTH), length: description.length }];
  },
});
