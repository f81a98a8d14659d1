import { isRefusal, NOFOLLOW_REASON } from '#crawler/reasons.ts';
import { countersOf } from '#domain/batch.ts';
import { DONE_REASONS, type EndReason, FAILED_REASONS, stateOf } from '#domain/crawl.ts';
import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Meter } from './meter.ts';
import type { AfterCalls } from './store.ts';

const STATUSES = ['fetched', 'redirected', 'failed', 'blocked'] as const;
const BLOCKED_REASONS = ['robots', 'address_guard', 'nofollow'] as const;
type BlockedReason = (typeof BLOCKED_REASONS)[number];

function blockedBy(reason: string | null): BlockedReason {
  if (reason === NOFOLLOW_REASON) return 'nofollow';
  return reason !== null && isRefusal(reason) ? 'address_guard' : 'robots';
}

/**
 * Counts the ends of crawls, by what the store has answered: only what was stored is counted, and none of it twice. `reasons` are those
 * that this thread may meet: told as 0 from the start, so that the first of each is a rise.
 */
function createCountEnd(meter: Meter, reasons: readonly EndReason[]): (snapshot: Snapshot) => void {
  const ended = meter.counter('crawlgate_crawls_ended_total');
  const durations = meter.histogram('crawlgate_crawl_duration_seconds');
  for (const reason of reasons) ended.inc({ state: stateOf(reason), reason }, 0);
  return ({ endReason, startedAt, finishedAt }) => {
    if (endReason === null) return;
    const state = stateOf(endReason);
    ended.inc({ state, reason: endReason });
    durations.observe({ state }, Math.max(0, (finishedAt ?? startedAt) - startedAt) / 1_000);
  };
}

/** For a thread that answers clients: a crawl that no worker had begun ends at once when it is cancelled. */
export function countCancels(meter: Meter): AfterCalls {
  const countEnd = createCountEnd(meter, ['cancelled']);
  return {
    cancelCrawl(answer) {
      if (answer === null || answer === 'final' || !isFinal(answer)) return;
      countEnd(answer);
    },
  };
}

export type WorkerFacts = {
  /** Crawls at most. */
  readonly capacity: number;
  readonly running: () => number;
};

/** For a thread that runs crawls. */
export function countCrawls(meter: Meter): AfterCalls {
  const countEnd = createCountEnd(meter, [...DONE_REASONS, ...FAILED_REASONS]);
  const claimed = meter.counter('crawlgate_crawls_claimed_total');
  const waits = meter.histogram('crawlgate_crawl_wait_seconds');
  const pages = meter.counter('crawlgate_pages_total');
  const blocked = meter.counter('crawlgate_pages_blocked_total');
  const swept = meter.counter('crawlgate_swept_records_total');
  const relayed = meter.counter('crawlgate_events_relayed_total');
  for (const phase of ['queued', 'fetching', 'analyzing']) claimed.inc({ phase }, 0);
  for (const status of STATUSES) pages.inc({ status }, 0);
  for (const reason of BLOCKED_REASONS) blocked.inc({ reason }, 0);

  return {
    claim(claim) {
      if (claim === null) return;
      const { snapshot, claimedAt } = claim;
      claimed.inc({ phase: snapshot.phase });
      if (snapshot.phase === 'queued') waits.observe(Math.max(0, claimedAt - snapshot.startedAt) / 1_000);
    },
    commitPages(answer, _crawlId, _token, batch) {
      if (answer === 'lost') return;
      const counters = countersOf(batch);
      for (const status of STATUSES) if (counters[status] > 0) pages.inc({ status }, counters[status]);
      for (const page of [...batch.discovered, ...batch.results])
        if (page.status === 'blocked') blocked.inc({ reason: blockedBy(page.reason) });
    },
    finish(answer) {
      if (answer !== 'lost') countEnd(answer);
    },
    reapLeases: (snapshots) => snapshots.forEach(countEnd),
    relayEvents: (count) => relayed.inc(count),
    sweep: (count) => swept.inc(count),
  };
}

/** Tells of the runs of a worker; answers what is to be called when a lease is lost. */
export function measureRuns(meter: Meter, { capacity, running }: WorkerFacts): () => void {
  meter.gauge('crawlgate_crawls_running', running);
  meter.gauge('crawlgate_crawls_capacity').set(capacity);
  const lost = meter.counter('crawlgate_leases_lost_total');
  return () => lost.inc();
}
