import { createRedirectPaths } from '../redirect-paths.ts';
import { siteRule } from '../rule.ts';

/** One finding for each beginning of a chain; what it leads over is told with it. */
export const redirectChain = siteRule({
  id: 'redirect.chain',
  severity: 'low',
  title: 'Several redirects in a row',
  why: 'Visitors wait for each of them before the page begins to load, and crawlers give up after a number of them.',
  fix: 'Redirect the first address to the last one at once.',
  begin() {
    const redirects = createRedirectPaths();
    return {
      page: redirects.page,
      *end() {
        for (const { redirects: seqs } of redirects.paths()) {
          if (seqs.length < 2 || redirects.isLedTo(seqs[0] ?? -1)) continue;
          yield {
            seqs,
            tell: (pages) => ({
              page: pages[0] ?? null,
              evidence: { redirectCount: pages.length, chain: [...pages.map(({ url }) => url), pages.at(-1)?.redirectUrl ?? ''] },
            }),
          };
        }
      },
    };
  },
});
