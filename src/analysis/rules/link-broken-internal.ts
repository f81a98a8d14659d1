import { isBroken, MAX_SAMPLES, siteRule } from '../rule.ts';

/** One finding a target, however many pages link to it: a broken link in a site's menu is one fault with one fix. */
export const linkBrokenInternal = siteRule({
  id: 'link.broken_internal',
  severity: 'high',
  title: 'Links lead to a broken page of the site',
  why: 'Whoever follows the link lands on an error and may leave; search engines waste visits on it.',
  fix: 'Correct or remove the link on the pages named here, or make the target answer again.',
  begin() {
    const broken: number[] = [];
    const linkCounts: number[] = [];
    const sources = new Map<number, number[]>();
    return {
      page(page) {
        if (isBroken(page)) broken.push(page.seq);
        for (const target of page.links) {
          if (target === page.seq) continue;
          const count = (linkCounts[target] ?? 0) + 1;
          linkCounts[target] = count;
          if (count === 1) sources.set(target, [page.seq]);
          else if (count <= MAX_SAMPLES) sources.get(target)?.push(page.seq);
        }
      },
      *end() {
        for (const target of broken) {
          const linkCount = linkCounts[target] ?? 0;
          if (linkCount === 0) continue;
          yield {
            seqs: [target, ...(sources.get(target) ?? [])],
            tell: ([page, ...linking]) => ({
              page: page ?? null,
              evidence: {
                target: page?.url ?? null,
                status: page?.httpStatus ?? null,
                reason: page?.reason ?? null,
                linkCount,
                linkedFrom: linking.map(({ url }) => url),
              },
            }),
          };
        }
      },
    };
  },
});
