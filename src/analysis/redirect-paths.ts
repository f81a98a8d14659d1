import type { Page } from '#domain/page.ts';
import { isBroken } from './rule.ts';
import { keyOfText } from './text-key.ts';

/** Redirects in a row that are looked at and told: the crawler follows no more. */
export const MAX_HOPS = 10;

/** A page that redirects, or that is broken; with the addresses of both told as keys. */
type Stop = { readonly seq: number; readonly leadsTo: string | null };

/** Redirects in a row: the pages that redirect, and the broken one that the last of them leads to, if it does. */
export type RedirectPath = { readonly redirects: readonly number[]; readonly broken: number | null };

/** Where the redirects of a crawl lead. Remembers the pages that redirect or are broken, a hundred bytes or two each. */
export type RedirectPaths = {
  page(page: Page): void;
  /** From each redirect: itself, and those that it leads to. Without those that lead into a loop. */
  paths(): Iterable<RedirectPath>;
  /** Whether another redirect leads to this page. */
  isLedTo(seq: number): boolean;
  /** Each loop once. */
  loops(): Iterable<readonly number[]>;
};

export function createRedirectPaths(): RedirectPaths {
  const stops = new Map<string, Stop>();
  const next = ({ leadsTo }: Stop): Stop | undefined => (leadsTo === null ? undefined : stops.get(leadsTo));
  let ledTo: ReadonlySet<number> | undefined;

  /** From `first` to what answers otherwise, or as far as is looked; null when it comes by the same page again. */
  function pathFrom(first: Stop): RedirectPath | null {
    const redirects: number[] = [];
    for (let stop: Stop | undefined = first; stop !== undefined; stop = next(stop)) {
      if (stop.leadsTo === null) return { redirects, broken: stop.seq };
      if (redirects.includes(stop.seq)) return null;
      if (redirects.length >= MAX_HOPS) break;
      redirects.push(stop.seq);
    }
    return { redirects, broken: null };
  }

  return {
    page(page) {
      if (page.redirectUrl !== null) stops.set(keyOfText(page.url), { seq: page.seq, leadsTo: keyOfText(page.redirectUrl) });
      else if (isBroken(page)) stops.set(keyOfText(page.url), { seq: page.seq, leadsTo: null });
    },
    *paths() {
      for (const stop of stops.values()) {
        const path = stop.leadsTo === null ? null : pathFrom(stop);
        if (path !== null) yield path;
      }
    },
    isLedTo(seq) {
      ledTo ??= new Set([...stops.values()].flatMap((stop) => next(stop)?.seq ?? []));
      return ledTo.has(seq);
    },
    *loops() {
      const walked = new Set<Stop>();
      for (const first of stops.values()) {
        const walk: Stop[] = [];
        let stop: Stop | undefined = first;
        while (stop !== undefined && !walked.has(stop)) {
          walked.add(stop);
          walk.push(stop);
          stop = next(stop);
        }
        // -1 where an earlier walk has been: its loop, if it has one, is told
        const from = stop === undefined ? -1 : walk.indexOf(stop);
        if (from >= 0) yield walk.slice(from).map(({ seq }) => seq);
      }
    },
  };
}
