import type { Analyze } from '#analysis/analyze.ts';
import type { Bus } from '#bus/bus.ts';
import type { RunCrawl } from '#crawler/crawler.ts';
import { type Ending, isAnalyzed } from '#domain/crawl.ts';
import { Refusal } from '#domain/errors.ts';
import type { OrganizationId } from '#domain/ids.ts';
import { LeaseLost } from '#domain/lease.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Claim, CrawlStore, RunStore } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { keepLease } from './lease-keeper.ts';
import { backoffMs, pause, type Timers } from './timers.ts';

/** What a client is told of a defect; the log has the rest. */
const INTERNAL_ERROR: Ending = {
  endReason: 'internal_error',
  error: 'Something went wrong inside crawlgate while it ran this crawl; the log of its worker tells what.',
};

export type RunDeps = {
  readonly store: Pick<RunStore, 'heartbeat' | 'release' | 'beginAnalysis' | 'finish'> & Pick<CrawlStore, 'getSnapshots'>;
  readonly bus: Pick<Bus, 'subscribe'>;
  readonly runCrawl: RunCrawl;
  readonly analyze: Analyze;
  /** Tells watchers; returns at once. Called after each change that this run has stored. */
  readonly publish: (snapshot: Snapshot) => void;
  /** Told of each run that ends because its lease is lost. */
  readonly onLeaseLost?: () => void;
  readonly leaseMs: number;
  readonly timers: Timers;
  readonly log: Log;
};

/** A claimed crawl on its way. */
export type Run = {
  readonly organizationId: OrganizationId;
  /** `timers.now()` when its lease was asked for. */
  readonly since: number;
  /** Whether little is lost when it is stopped: its fetching goes on, which another claim resumes. An analysis would begin anew. */
  isFetching(): boolean;
  /** Resolves when the crawl is finished, given back, or lost; never rejects. */
  readonly done: Promise<void>;
  /** Ends the run without an ending: what is fetched is stored, and the crawl given back. */
  stop(reason: Error): void;
  /** Lets the lease expire. For a run that did not end in time after `stop`. */
  abandon(): void;
};

const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable';

/**
 * Takes a claimed crawl to its end: fetching, unless that has ended before, then analysis where its ending asks for one.
 * A cancel ends the fetching; once that has ended, its ending stands, and the analysis of what was fetched goes on. A crawl
 * whose store does not answer is given back for a later claim to resume; any other exception ends it `internal_error`.
 */
export function startRun(deps: RunDeps, claim: Claim, leasedAt: number): Run {
  const { store, bus, publish, timers } = deps;
  const { id } = claim.snapshot;
  const log = deps.log.child({ crawlId: id });
  const ended = new AbortController();
  const cancelled = new AbortController();
  const { signal } = ended;
  let isFetching = claim.ending === null;

  const lease = keepLease({
    ...deps,
    claim,
    leasedAt,
    log,
    onLost: (reason) => ended.abort(reason),
    onCancelRequested: () => cancelled.abort(),
  });
  const listening = bus.subscribe({ kind: 'crawl', id }, (snapshot) => {
    if (snapshot.cancelRequested) cancelled.abort();
  });
  listening.catch((error: unknown) => log.warn({ err: error }, 'no listening for a cancel: the heartbeat will tell of it'));

  /** The answer of a store call that is safe to repeat: repeated while the store is unavailable, and the run goes on. */
  async function answered<Answer>(call: () => Promise<Answer | 'lost'>): Promise<Answer> {
    for (let failures = 1; ; failures++) {
      try {
        const answer = await call();
        if (answer === 'lost') throw new LeaseLost('The store has given the crawl to somebody else.');
        return answer;
      } catch (error) {
        if (!isUnavailable(error) || signal.aborted) throw error;
        await pause(timers, backoffMs(failures), signal);
      }
    }
  }

  async function hasPagesToAnalyze({ endReason }: Ending): Promise<boolean> {
    const [snapshot] = await answered(() => store.getSnapshots([id]));
    return isAnalyzed(endReason, snapshot?.counters.fetched ?? 0);
  }

  async function finish(ending: Ending, findingsCount: number | null): Promise<void> {
    const snapshot = await answered(() => store.finish(id, claim.token, ending, findingsCount));
    publish(snapshot);
    log.info({ endReason: ending.endReason, fetched: snapshot.counters.fetched, findingsCount }, 'crawl finished');
  }

  async function fetchAndAnalyze(): Promise<void> {
    const control = { signal, cancelled: cancelled.signal, leasesOnAuthority: lease.leasesOnAuthority };
    const ending = claim.ending ?? (await deps.runCrawl(claim, control));
    isFetching = false;
    if (claim.ending === null) {
      if (!(await hasPagesToAnalyze(ending))) return finish(ending, null);
      publish(await answered(() => store.beginAnalysis(id, claim.token, ending)));
    }
    await finish(ending, await deps.analyze(claim, signal));
  }

  async function giveBack(error: unknown): Promise<void> {
    if (signal.aborted) log.info({ reason: signal.reason.message }, 'run ended before its crawl');
    else log.warn({ err: error }, 'run ended before its crawl');
    if (error instanceof LeaseLost || signal.reason instanceof LeaseLost) deps.onLeaseLost?.();
    await answered(async () => store.release(id, claim.token)).catch((error: unknown) => log.warn({ err: error }, 'crawl not given back'));
    lease.end();
    // not claimed again at once, while the store still recovers
    if (isUnavailable(error)) await pause(timers, backoffMs(3), signal);
  }

  async function run(): Promise<void> {
    log.info({ host: claim.snapshot.host, phase: claim.snapshot.phase, batch: claim.batch }, 'crawl claimed');
    if (claim.snapshot.cancelRequested) cancelled.abort();
    if (claim.snapshot.phase !== 'queued') publish(claim.snapshot);
    try {
      try {
        await fetchAndAnalyze();
      } catch (error) {
        if (signal.aborted || error instanceof LeaseLost || isUnavailable(error)) throw error;
        log.error({ err: error }, 'crawl ended by a defect');
        await finish(INTERNAL_ERROR, null);
      }
    } catch (error) {
      await giveBack(error);
    } finally {
      lease.end();
      listening.then((stopListening) => stopListening()).catch(() => {}); // told above
    }
  }

  return {
    organizationId: claim.snapshot.organizationId,
    since: leasedAt,
    isFetching: () => isFetching && !signal.aborted,
    done: run(),
    stop: (reason) => ended.abort(reason),
    abandon: lease.end,
  };
}
