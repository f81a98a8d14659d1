import type { PageWithLinks } from '#domain/page.ts';
import { type IncomingLinks, MAX_SAMPLES } from './rule.ts';

/** The links of a crawl by where they lead, complete once each of its pages has been told: a count and ten numbers a target. */
export function createIncomingLinks(): IncomingLinks & { page(page: PageWithLinks): void } {
  const counts: number[] = [];
  const sources = new Map<number, number[]>();
  return {
    page({ seq, links }) {
      for (const target of links) {
        if (target === seq) continue;
        const count = (counts[target] ?? 0) + 1;
        counts[target] = count;
        if (count === 1) sources.set(target, [seq]);
        else if (count <= MAX_SAMPLES) sources.get(target)?.push(seq);
      }
    },
    countTo: (target) => counts[target] ?? 0,
    samplesTo: (target) => sources.get(target) ?? [],
  };
}
