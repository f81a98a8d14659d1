import type { Page } from '#domain/page.ts';
import type { Evidence, IncomingLinks, SiteCheck } from './rule.ts';

export type LinkFault = {
  /** Whether links should not lead to this page. */
  readonly isFault: (target: Page) => boolean;
  /** What is told of the target, beside the links to it. */
  readonly tell: (target: Page) => Evidence;
};

/** One finding a target, however many pages link to it: a bad link in a site's menu is one fault with one fix. */
export function linkTargets(links: IncomingLinks, { isFault, tell }: LinkFault): SiteCheck {
  const faults: number[] = [];
  return {
    page(page) {
      if (isFault(page)) faults.push(page.seq);
    },
    *end() {
      for (const target of faults) {
        const linkCount = links.countTo(target);
        if (linkCount === 0) continue;
        yield {
          seqs: [target, ...links.samplesTo(target)],
          tell: ([page, ...linking]) => ({
            page: page ?? null,
            evidence: { ...(page && tell(page)), linkCount, linkedFrom: linking.map(({ url }) => url) },
          }),
        };
      }
    },
  };
}
