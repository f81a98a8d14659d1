import { createHash } from 'node:crypto';
import type { Page } from '#domain/page.ts';
import { indexedFacts, MAX_SAMPLES, siteRule } from '../rule.ts';

/** Titles are compared, and told, up to this many characters. */
const MAX_TITLE_LENGTH = 300;

type Group = { count: number; readonly seqs: number[] };

/** The title that the page stands for in search results; null when it has none, or names another page as the one to list. */
function ownTitle(page: Page): string | null {
  const facts = indexedFacts(page);
  if (facts === null || facts.title === '' || (facts.canonical !== null && facts.canonical !== page.url)) return null;
  return facts.title.slice(0, MAX_TITLE_LENGTH);
}

const keyOf = (title: string): string => createHash('sha256').update(title).digest('base64url');

export const titleDuplicate = siteRule({
  id: 'title.duplicate',
  severity: 'medium',
  title: 'Several pages have the same title',
  why: 'Readers of search results and tabs cannot tell the pages apart, and search engines may list only one of them.',
  fix: 'Give each page a title of its own, or name the one to list by <link rel="canonical"> on the others.',
  identifiedBy: ['title'],
  begin() {
    const groups = new Map<string, Group>();
    return {
      page(page) {
        const title = ownTitle(page);
        if (title === null) return;
        const key = keyOf(title);
        const group = groups.get(key) ?? { count: 0, seqs: [] };
        group.count++;
        if (group.seqs.length < MAX_SAMPLES) group.seqs.push(page.seq);
        groups.set(key, group);
      },
      *end() {
        for (const { count, seqs } of groups.values()) {
          if (count < 2) continue;
          yield {
            seqs,
            tell: (pages) => ({
              page: null,
              evidence: { title: (pages[0] && ownTitle(pages[0])) ?? '', pageCount: count, pages: pages.map(({ url }) => url) },
            }),
          };
        }
      },
    };
  },
});
