import { BLOCKED_BY_ROBOTS, type Page } from '#domain/page.ts';
import { indexedFacts, isBroken, siteRule } from '../rule.ts';
import { createTally } from '../tally.ts';
import { keyOfText } from '../text-key.ts';

/** Why a page cannot be listed, and so is no use as canonical; null when nothing is known against it. */
function problemOf(page: Page): string | null {
  if (isBroken(page)) return 'it is broken';
  if (page.status === 'redirected') return 'it redirects';
  if (page.facts?.noindex === true) return 'it has noindex';
  // not what only nofollow links lead to: that was not asked for, and says nothing of the page
  return page.status === 'blocked' && page.reason?.startsWith(BLOCKED_BY_ROBOTS) === true ? 'robots.txt blocks it' : null;
}

/** One finding a target, with the pages that name it. Of a target that was not crawled nothing is known, and nothing is told. */
export const canonicalBroken = siteRule({
  id: 'canonical.broken',
  severity: 'medium',
  title: 'Pages name a canonical page that is broken, redirects or is hidden',
  why: 'Search engines are asked to list that page in place of these. Where they cannot, they may list none of them, or choose one themselves.',
  fix: 'Name a page in <link rel="canonical"> that answers with 200 and may be listed; of a page that stands for itself, its own address.',
  begin() {
    const named = createTally<string>();
    const problems: { readonly seq: number; readonly key: string }[] = [];
    return {
      page(page) {
        if (problemOf(page) !== null) problems.push({ seq: page.seq, key: keyOfText(page.url) });
        const canonical = indexedFacts(page)?.canonical ?? page.url;
        if (canonical !== page.url) named.add(keyOfText(canonical), page.seq);
      },
      *end() {
        for (const { seq, key } of problems) {
          const naming = named.get(key);
          if (naming === undefined) continue;
          yield {
            seqs: [seq, ...naming.seqs],
            tell: ([page, ...pages]) => ({
              page: page ?? null,
              evidence: {
                target: page?.url ?? null,
                problem: page === undefined ? null : problemOf(page),
                status: page?.httpStatus ?? null,
                pageCount: naming.count,
                namedBy: pages.map(({ url }) => url),
              },
            }),
          };
        }
      },
    };
  },
});
