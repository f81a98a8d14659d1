import { listedFacts, MAX_TEXT_LENGTH, pageRule } from '../rule.ts';

/** Search results show some 600 pixels of a title, which hold about 60 characters; a few more are lost without harm. */
const MOST_CHARACTERS = 70;

export const titleTooLong = pageRule({
  id: 'title.too_long',
  severity: 'low',
  title: 'Title is longer than search results show',
  why: 'Search results show about 60 characters of a title and cut off the rest; tabs show fewer still.',
  fix: 'Put what tells this page from others first, and shorten the title to about 60 characters.',
  check(page) {
    const title = listedFacts(page)?.title ?? '';
    return title.length > MOST_CHARACTERS ? [{ title: title.slice(0, MAX_TEXT_LENGTH), length: title.length }] : [];
  },
});
