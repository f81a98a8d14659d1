import type { Page, PageWithLinks } from '#domain/page.ts';
import { type Evidence, MAX_SAMPLES, type SiteCheck } from './rule.ts';

export type LinkFault = {
  /** Whether links should not lead to this page. */
  readonly isFault: (target: Page) => boolean;
  /** Whether the links on this page count. */
  readonly counts?: (source: PageWithLinks) => boolean;
  /** What is told of the target, beside the links to it. */
  readonly tell: (target: Page) => Evidence;
};

/** One finding a target, however many pages link to it: a bad link in a site's menu is one fault with one fix. */
export function linkTargets({ isFault, counts = () => true, tell }: LinkFault): SiteCheck {
  const faults: number[] = [];
  const linkCounts: number[] = [];
  const sources = new Map<number, number[]>();
  return {
    page(page) {
      if (isFault(page)) faults.push(page.seq);
      if (!counts(page)) return;
      for (const target of page.links) {
        if (target === page.seq) continue;
        const count = (linkCounts[target] ?? 0) + 1;
        linkCounts[target] = count;
        if (count === 1) sources.set(target, [page.seq]);
        else if (count <= MAX_SAMPLES) sources.get(target)?.push(page.seq);
      }
    },
    *end() {
      for (const target of faults) {
        const linkCount = linkCounts[target] ?? 0;
        if (linkCount === 0) continue;
        yield {
          seqs: [target, ...(sources.get(target) ?? [])],
          tell: ([page, ...linking]) => ({
            page: page ?? null,
            evidence: { ...(page && tell(page)), linkCount, linkedFrom: linking.map(({ url }) => url) },
          }),
        };
      }
    },
  };
}
