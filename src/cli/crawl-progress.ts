import { type Snapshot, urlsQueued } from '#domain/snapshot.ts';
import type { Context } from './context.ts';
import { createProgressBar } from './progress-bar.ts';

/** What is told of a crawl while it runs, on stderr. */
export type CrawlProgress = {
  tell(snapshot: Snapshot): void;
  /** Takes the bar's line to its end. Repeatable. */
  end(): void;
};

/** Between two lines, in milliseconds. */
const LINE_EVERY_MS = 10_000;

/** A bar where stderr is a terminal; else a line at each phase from the first page on, and now and then between. */
export async function createCrawlProgress(context: Context): Promise<CrawlProgress> {
  return context.errTerminal === null ? lines(context) : bar(context.errTerminal);
}

/** How far it is, in pages; those that are found but not among the most to fetch do not count. */
function measure({ counters, maxUrls, ...rest }: Snapshot): { readonly done: number; readonly total: number; readonly phase: string } {
  const queued = urlsQueued(counters);
  const done = counters.discovered - queued;
  return { done, total: done + Math.min(queued, maxUrls - counters.fetched), phase: rest.phase };
}

function lines({ err }: Context): CrawlProgress {
  let toldPhase = '';
  let toldAt = 0;
  return {
    tell(snapshot) {
      const { done, total, phase } = measure(snapshot);
      const now = performance.now();
      if (phase === 'queued' || (phase === toldPhase && now - toldAt < LINE_EVERY_MS)) return;
      toldPhase = phase;
      toldAt = now;
      err.write(`${phase}: ${done} of ${total} pages\n`);
    },
    end() {},
  };
}

async function bar(stream: NodeJS.WritableStream): Promise<CrawlProgress> {
  const shown = await createProgressBar(stream, '{value} of {total} pages | {duration_formatted} | {phase}');
  shown.start(1, 0, { phase: 'queued' });
  return {
    tell(snapshot) {
      const { done, total, phase } = measure(snapshot);
      shown.setTotal(Math.max(1, total));
      shown.update(done, { phase });
    },
    end() {
      if (shown.isActive) shown.stop();
    },
  };
}
