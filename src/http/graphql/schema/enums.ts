import { CRAWL_STATES, type CrawlPhase, type CrawlState, DONE_REASONS, type EndReason, FAILED_REASONS } from '#domain/crawl.ts';
import type { Builder } from './builder.ts';

const STATES: Readonly<Record<CrawlState, string>> = {
  running: 'It waits for a worker, is fetched or is analyzed; `phase` says which.',
  done: 'It has ended, and its findings are complete. Final.',
  failed: 'It has ended early; `error` says why. Final.',
};

const PHASES: Readonly<Record<CrawlPhase, string>> = {
  queued: 'It waits for a worker; nothing has been fetched.',
  fetching: 'Its pages are being fetched.',
  analyzing: 'Fetching has ended; its pages are being analyzed.',
  finished: 'It has ended: `state` is final.',
};

const END_REASONS: Readonly<Record<EndReason, string>> = {
  completed: 'Nothing was left to fetch.',
  max_urls: '`maxUrls` pages were fetched, and others remained.',
  seed_unreachable: 'The start page could not be fetched, or redirects to another site.',
  seed_blocked_by_robots: 'robots.txt does not allow the start page.',
  address_not_allowed: 'The start page, or what it redirects to, is at an address or port that must not be fetched from.',
  quota_exhausted: "The organization's monthly quota was used up.",
  time_limit: 'It took too long.',
  cancelled: 'Somebody cancelled it.',
  worker_lost: 'Workers stopped responding while they ran it, too often in a row.',
  internal_error: 'A defect of the service.',
};

const valuesOf = <Value extends string>(names: readonly Value[], descriptions: Readonly<Record<Value, string>>) =>
  Object.fromEntries(names.map((name) => [name.toUpperCase(), { value: name, description: descriptions[name] }])) as Record<
    string,
    { value: Value; description: string }
  >;

/** The closed lists of a crawl, in upper case. */
export const addEnums = (builder: Builder) => ({
  state: builder.enumType('CrawlState', {
    description: 'Whether a crawl has ended, and how.',
    values: valuesOf(CRAWL_STATES, STATES),
  }),
  phase: builder.enumType('CrawlPhase', {
    description: 'What is being done with a crawl; finer than its state.',
    values: valuesOf(Object.keys(PHASES) as CrawlPhase[], PHASES),
  }),
  endReason: builder.enumType('CrawlEndReason', {
    description: 'Why a crawl ended.',
    values: valuesOf<EndReason>([...DONE_REASONS, ...FAILED_REASONS], END_REASONS),
  }),
});

export type Enums = ReturnType<typeof addEnums>;
