import type { Page, PageWithLinks } from '#domain/page.ts';
import { isFurtherPage } from './addresses.ts';
import { type Evidence, listedFacts, MAX_TEXT_LENGTH, type SiteCheck } from './rule.ts';
import { createTally } from './tally.ts';
import { keyOfText } from './text-key.ts';

export type Grouping = {
  /** What a page has in common with others of its group; null: it is of none. */
  readonly by: (page: PageWithLinks) => string | null;
  /** The fewest pages that are a fault. */
  readonly atLeast: number;
  /** What tells a group from others, from its first page. */
  readonly tell?: (first: Page) => Evidence;
};

/** One finding a group of pages, and of no single page: for faults that one change mends on all of them. */
export function groupPages({ by, atLeast, tell = () => ({}) }: Grouping): SiteCheck {
  const groups = createTally<string>();
  return {
    page(page) {
      const text = by(page);
      if (text !== null) groups.add(keyOfText(text), page.seq);
    },
    *end() {
      for (const [, { count, seqs }] of groups.entries()) {
        if (count < atLeast) continue;
        yield {
          seqs,
          tell: (pages) => {
            const told = pages[0] === undefined ? {} : tell(pages[0]);
            return { page: null, evidence: { ...told, pageCount: count, pages: pages.map(({ url }) => url) } };
          },
        };
      }
    },
  };
}

/** Finds the pages that a search engine may list with the same words. Further pages of a list share those of its first one with reason. */
export function groupDuplicates(fact: 'title' | 'description'): SiteCheck {
  const textOf = (page: Page): string | null =>
    isFurtherPage(page.url) ? null : listedFacts(page)?.[fact]?.slice(0, MAX_TEXT_LENGTH) || null;
  const groups = groupPages({ by: textOf, atLeast: 2, tell: (first) => ({ [fact]: textOf(first) }) });
  const canonicals = new Set<string>();
  return {
    ...groups,
    page(page) {
      const canonical = listedFacts(page)?.canonical ?? page.url;
      if (canonical !== page.url) {
        // of a copy's pages that name the same page of the published site, the first stands for that page
        const key = keyOfText(canonical);
        if (canonicals.has(key)) return;
        canonicals.add(key);
      }
      groups.page(page);
    },
  };
}
