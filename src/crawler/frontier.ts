import type { EpochMs } from '#domain/ids.ts';
import type { PageResult } from '#domain/page.ts';
import type { FrontierPage } from '#store/store.ts';

/** The quota that one request uses, of the UTC month in which it is sent. */
export type Ticket = { readonly month: string };

/** A queued page on its way. `attempt` counts the requests sent for it. */
export type Entry = {
  readonly seq: number;
  readonly url: string;
  readonly depth: number;
  readonly redirects: number;
  attempt: number;
  /** When it may be asked for again, after an attempt that is worth another. */
  retryAt: EpochMs;
  ticket: Ticket | null;
  /** What the last response that was worth a retry made of the page, and its charge: it stands if no further response comes. */
  fallback: { readonly result: PageResult; readonly ticket: Ticket } | null;
};

export type Discovery = { readonly url: string; readonly depth: number; readonly redirects: number; readonly blocked: boolean };

/**
 * A crawl's pages in the order (depth, seq). None of depth d+1 is given out before all of depth d have ended, so that a page's depth
 * is exact. Fetched pages count towards `maxUrls`, and so does every page on its way, until it turns out to be something else.
 */
export type Frontier = {
  readonly seqOf: (url: string) => number | undefined;
  /** The new page's seq, or null when there is no room for it. The URL must be new. */
  readonly discover: (discovery: Discovery) => number | null;
  /** The next page to fetch now; null when there is none at the moment. */
  readonly take: () => Entry | null;
  readonly isReady: () => boolean;
  /** Nothing on its way, and nothing left or allowed to start. */
  readonly isFinished: () => boolean;
  /** Gives a page out again, at its `retryAt` or later. */
  readonly retry: (entry: Entry) => void;
  /** A page that was given out has ended. Its discoveries must have been made before. */
  readonly settle: (status: 'fetched' | 'other') => void;
  /** No page can be queued now. */
  readonly isFull: () => boolean;
  readonly counts: () => { readonly known: number; readonly queued: number; readonly fetched: number; readonly underWay: number };
};

type Options = {
  readonly maxUrls: number;
  /**
   * How many pages may be queued, and how many may be blocked, beyond which a URL is dropped. Pages that turned out to be no page of the
   * site (redirects, no response) keep their place among the queued: they count towards nothing else, so that a site could go on for ever.
   */
  readonly maxQueued: number;
  /** Everything that was stored before, by seq. */
  readonly stored: readonly FrontierPage[];
  readonly now: () => EpochMs;
};

export function createFrontier({ maxUrls, maxQueued, stored, now }: Options): Frontier {
  const seqs = new Map<string, number>();
  const levels = new Map<number, Entry[]>();
  const retries: Entry[] = [];
  let level: Entry[] = [];
  let depth = -1;
  let head = 0;
  let nextSeq = 0;
  let queued = 0;
  let blocked = 0;
  let fetched = 0;
  let others = 0;
  let underWay = 0;

  function push(page: Pick<FrontierPage, 'seq' | 'url' | 'depth' | 'redirects'>): void {
    const { seq, url, redirects } = page;
    const entry: Entry = { seq, url, depth: page.depth, redirects, attempt: 0, retryAt: 0, ticket: null, fallback: null };
    queued++;
    if (page.depth === depth) level.push(entry);
    else {
      const waiting = levels.get(page.depth);
      if (waiting === undefined) levels.set(page.depth, [entry]);
      else waiting.push(entry);
    }
  }

  for (const page of stored) {
    seqs.set(page.url, page.seq);
    nextSeq = Math.max(nextSeq, page.seq + 1);
    if (page.status === 'queued') push(page);
    else if (page.status === 'fetched') fetched++;
    else if (page.status === 'blocked') blocked++;
    else others++;
  }

  /** Whether a page that was not given out before may be; goes on to the next depth when this one has ended. */
  function hasFresh(): boolean {
    if (fetched + underWay >= maxUrls) return false;
    if (head < level.length) return true;
    if (underWay > 0 || levels.size === 0) return false;
    depth = Math.min(...levels.keys());
    level = levels.get(depth) ?? [];
    levels.delete(depth);
    head = 0;
    return true;
  }
  const isFull = (): boolean => queued + others >= maxQueued;
  const dueRetry = (): number => {
    const at = now();
    return retries.findIndex((entry) => entry.retryAt <= at);
  };

  return {
    seqOf: (url) => seqs.get(url),
    discover(page) {
      if (page.blocked ? blocked >= maxQueued : isFull()) return null;
      const seq = nextSeq++;
      seqs.set(page.url, seq);
      if (page.blocked) blocked++;
      else push({ ...page, seq });
      return seq;
    },
    take() {
      const due = dueRetry();
      if (due >= 0) return retries.splice(due, 1)[0] ?? null;
      if (!hasFresh()) return null;
      const entry = level[head++] ?? null;
      if (entry !== null) underWay++;
      // A level can hold thousands of pages: what was given out is let go.
      if (head === 1_024) {
        level = level.slice(head);
        head = 0;
      }
      return entry;
    },
    isReady: () => dueRetry() >= 0 || hasFresh(),
    isFinished: () => underWay === 0 && !hasFresh(),
    retry(entry) {
      retries.push(entry);
    },
    settle(status) {
      underWay--;
      queued--;
      if (status === 'fetched') fetched++;
      else others++;
    },
    isFull,
    counts: () => ({ known: seqs.size, queued, fetched, underWay }),
  };
}
