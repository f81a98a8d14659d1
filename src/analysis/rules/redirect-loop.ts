import { createRedirectPaths, MAX_HOPS } from '../redirect-paths.ts';
import { siteRule } from '../rule.ts';

export const redirectLoop = siteRule({
  id: 'redirect.loop',
  severity: 'high',
  title: 'Redirects lead in a circle',
  why: 'Nobody gets to a page: browsers show an error after some rounds, and search engines give up.',
  fix: 'Look for rules that contradict each other, such as two about www, https or the slash at the end. Where the circle ends once a cookie is set, answer without it, too: crawlers keep none.',
  begin() {
    const redirects = createRedirectPaths();
    return {
      page: redirects.page,
      *end() {
        for (const seqs of redirects.loops()) {
          yield {
            seqs: seqs.slice(0, MAX_HOPS),
            tell: (pages) => {
              // the same page in each crawl, whichever of them it came to first
              const first = pages.reduce((least, page, at) => (page.url < (pages[least]?.url ?? '') ? at : least), 0);
              const loop = [...pages.slice(first), ...pages.slice(0, first)];
              return { page: loop[0] ?? null, evidence: { redirectCount: seqs.length, loop: loop.map(({ url }) => url) } };
            },
          };
        }
      },
    };
  },
});
