import { groupPages } from '../group-pages.ts';
import { listedFacts, siteRule } from '../rule.ts';

/** The form of a language tag (RFC 5646 §2.1): a language of two or three letters, or a private or registered one, then subtags. */
const LANGUAGE_TAG = /^(?:[a-z]{2,3}|[ix](?=-))(?:-[a-z0-9]{1,8})*$/i;

export const langInvalid = siteRule({
  id: 'lang.invalid',
  severity: 'medium',
  title: 'Pages name their language in a wrong form',
  why: 'Screen readers and browsers may not understand it, and then do as if no language was named.',
  fix: 'Write the language as a tag such as "en", "de-AT" or "pt-BR": a code and a hyphen, not a name and not an underscore.',
  identifiedBy: ['lang'],
  begin: () =>
    groupPages({
      by: (page) => {
        const lang = listedFacts(page)?.lang ?? '';
        return lang === '' || LANGUAGE_TAG.test(lang) ? null : lang;
      },
      atLeast: 1,
      tell: ({ facts }) => ({ lang: facts?.lang ?? null }),
    }),
});
