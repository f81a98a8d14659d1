import { MAX_BATCH_AGE_MS, MAX_BATCH_BYTES, MAX_BATCH_PAGES, type Month, type PageBatch } from '#domain/batch.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { DiscoveredPage, PageResult } from '#domain/page.ts';
import type { Snapshot } from '#domain/snapshot.ts';

/** Commits a crawl's pages in order, one batch at a time. */
export type Batcher = {
  /** Call the discoveries of a page before its result: they are stored in this order. */
  readonly discovered: (page: DiscoveredPage) => void;
  /** `month` is charged with the page; null for a page that is not fetched. */
  readonly result: (page: PageResult, month: Month | null) => void;
  /** A URL was dropped because the frontier is full. */
  readonly truncated: () => void;
  /** Resolves when few enough pages wait, so that memory stays bounded; at once as a rule. Never rejects. */
  readonly room: () => Promise<void>;
  /** Resolves when everything is stored. Rejects with what a commit failed with, `LeaseLost` among it. */
  readonly flush: () => Promise<void>;
  /** Nothing more is committed; what is under way is not waited for. */
  readonly stop: () => void;
};

type Deps = {
  /** The number of the last batch that is stored. */
  readonly lastBatch: number;
  readonly commit: (batch: PageBatch) => Promise<Snapshot | 'lost'>;
  readonly onCommitted: (snapshot: Snapshot) => void;
  /** The first failure; nothing is committed after it. */
  readonly onError: (error: unknown) => void;
};

type Item = { readonly bytes: number } & (
  | { readonly found: DiscoveredPage; readonly result?: undefined }
  | { readonly result: PageResult; readonly month: Month | null; readonly found?: undefined }
);

/** Pages that may wait, and their bytes, before `room` makes their makers wait: a page may have 400 KB of links. */
const MAX_WAITING = 2_000;
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Estimates below are generous, but they are estimates. */
const BATCH_BYTES = MAX_BATCH_BYTES * 0.75;

const textBytes = (text: string | null): number => (text === null ? 4 : text.length * 3 + 2);
/** A URL is ASCII; of its characters JSON escapes the backslash, which a query may be full of. */
const urlBytes = (url: string): number => (url.includes('\\') ? url.length * 2 : url.length) + 3;

function resultBytes({ contentType, reason, redirectUrl, facts, links, otherLinks }: PageResult): number {
  let bytes = 512 + textBytes(contentType) + textBytes(reason) + textBytes(redirectUrl) + links.length * 7;
  if (facts !== null) bytes += textBytes(facts.title) + textBytes(facts.description) + textBytes(facts.lang) + textBytes(facts.canonical);
  for (const link of otherLinks) bytes += urlBytes(link);
  return bytes;
}

export function createBatcher({ lastBatch, commit, onCommitted, onError }: Deps): Batcher {
  let waiting: Item[] = [];
  let waitingBytes = 0;
  let number = lastBatch;
  let truncated = false;
  let committing = false;
  let timer: NodeJS.Timeout | undefined;
  let flushing: PromiseWithResolvers<void> | undefined;
  let roomy: PromiseWithResolvers<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const hasRoom = (): boolean => waiting.length < MAX_WAITING && waitingBytes < MAX_WAITING_BYTES;

  function cutBatch(): PageBatch {
    let bytes = 0;
    let count = 0;
    for (const item of waiting) {
      bytes += item.bytes;
      if (count === MAX_BATCH_PAGES || (count > 0 && bytes > BATCH_BYTES)) break;
      count++;
    }
    const discovered: DiscoveredPage[] = [];
    const results: PageResult[] = [];
    const charges: Record<Month, number> = {};
    for (const item of waiting.slice(0, count)) {
      waitingBytes -= item.bytes;
      if (item.found !== undefined) discovered.push(item.found);
      else {
        results.push(item.result);
        if (item.month !== null) charges[item.month] = (charges[item.month] ?? 0) + 1;
      }
    }
    waiting = waiting.slice(count);
    if (hasRoom()) {
      roomy?.resolve();
      roomy = undefined;
    }
    number++;
    return { number, discovered, results, charges, frontierTruncated: truncated };
  }

  function fail(error: unknown): void {
    failure ??= { error };
    clearTimeout(timer);
    waiting = [];
    roomy?.resolve();
    flushing?.reject(failure.error);
    onError(error);
  }

  function next(): void {
    clearTimeout(timer);
    timer = undefined;
    if (committing || failure !== undefined) return;
    if (waiting.length === 0) {
      flushing?.resolve();
      return;
    }
    committing = true;
    commit(cutBatch()).then(
      (answer) => {
        committing = false;
        if (failure !== undefined) return;
        if (answer === 'lost') return fail(new LeaseLost('Another worker holds the crawl.'));
        onCommitted(answer);
        if (waiting.length >= MAX_BATCH_PAGES || flushing !== undefined) next();
        else if (waiting.length > 0) timer ??= setTimeout(next, MAX_BATCH_AGE_MS);
      },
      (error) => {
        committing = false;
        fail(error);
      },
    );
  }

  function add(item: Item): void {
    if (failure !== undefined) return;
    waiting.push(item);
    waitingBytes += item.bytes;
    if (committing) return;
    if (waiting.length >= MAX_BATCH_PAGES) next();
    else timer ??= setTimeout(next, MAX_BATCH_AGE_MS);
  }

  return {
    discovered: (found) => add({ found, bytes: 128 + urlBytes(found.url) + textBytes(found.reason) }),
    result: (result, month) => add({ result, month, bytes: resultBytes(result) }),
    truncated() {
      truncated = true;
    },
    room() {
      if (hasRoom() || failure !== undefined) return Promise.resolve();
      roomy ??= Promise.withResolvers();
      return roomy.promise;
    },
    flush() {
      if (failure !== undefined) return Promise.reject(failure.error);
      flushing ??= Promise.withResolvers();
      const { promise } = flushing;
      next();
      return promise;
    },
    stop() {
      clearTimeout(timer);
      failure ??= { error: new Error('The batcher was stopped.') };
      waiting = [];
      roomy?.resolve();
    },
  };
}
