import type { EpochMs } from '#domain/ids.ts';
import type { NoResponse, Response } from './fetch-page.ts';

/** What became of a request, as far as the origin's load tells. */
export type Load = { readonly kind: 'fine' | 'error' | 'dropped' } | { readonly kind: 'busy'; readonly retryAfterMs: number | null };

export function loadOf(answer: Response | NoResponse): Load | null {
  if (answer.kind === 'none') return answer.refused ? null : { kind: answer.dropped ? 'dropped' : 'error' };
  if (answer.status === 429 || answer.status === 503) return { kind: 'busy', retryAfterMs: answer.retryAfterMs };
  return { kind: answer.status >= 500 ? 'error' : 'fine' };
}

/** One crawl's way to one origin. */
export type Lane = {
  /** Waits for this crawl's turn. Rejects with `signal.reason`. Each one that resolved is ended by `done`. */
  readonly acquire: (signal: AbortSignal) => Promise<void>;
  readonly done: (load: Load | null) => void;
  /** No further turn is asked for. */
  readonly leave: () => void;
};

export type LaneOptions = {
  /** Live leases on the crawl's authority, in every process. */
  readonly leases: () => number;
  /** Requests a second that the origin may get; null: as many as it takes. */
  readonly rate: number | null;
  /** The pause between requests that robots.txt asks for; 0 when it does not. */
  readonly crawlDelayMs: () => number;
};

/**
 * One limiter an origin, shared by all crawls of this process: `concurrency` requests at a time and `rate` a second, divided by the
 * crawls that are at it. A 429 or 503 pauses the origin, and so does a connection that is dropped while others are under way, if the
 * origin has answered before. These and errors halve what it gets, at most once a second; each good answer gives a little back, and less
 * the more often connections were dropped so, that what is one too many is not tried again and again. What an origin was slowed down to outlives the crawls at it, for the last 10,000 origins that were left so.
 */
export type OriginLimiters = { readonly lane: (origin: string, options: LaneOptions) => Lane };

type Deps = { readonly concurrency: number; readonly maxPauseMs: number; readonly now: () => EpochMs };

const SLOWEST = 1 / 16;
const REGAIN = 1 / 32;
const SLOWEST_REGAIN = REGAIN / 32;
const HALVE_EVERY_MS = 1_000;
/** The pause after a 429 or 503 that names none, and after a dropped connection. Longer than between two halvings. */
const DEFAULT_PAUSE_MS = 2_000;
/** Origins without a crawl that are remembered, a few hundred bytes each. */
const MAX_RESTING = 10_000;

type Waiter = PromiseWithResolvers<void> & { readonly signal: AbortSignal; readonly onAbort: () => void };
type LaneState = {
  readonly options: LaneOptions;
  readonly queue: Waiter[];
  active: number;
  nextAt: EpochMs;
  timer: NodeJS.Timeout | undefined;
};
type Origin = {
  readonly lanes: Set<LaneState>;
  share: number;
  regain: number;
  hasAnswered: boolean;
  pausedUntil: EpochMs;
  halvedAt: EpochMs;
};

const newOrigin = (): Origin => ({
  lanes: new Set(),
  share: 1,
  regain: REGAIN,
  hasAnswered: false,
  pausedUntil: 0,
  halvedAt: Number.NEGATIVE_INFINITY,
});

export function createOriginLimiters({ concurrency, maxPauseMs, now }: Deps): OriginLimiters {
  /** Those with a crawl at them. */
  const origins = new Map<string, Origin>();
  /** Those without one that are not at ease, by when they were left. */
  const resting = new Map<string, Origin>();

  function pump(origin: Origin, lane: LaneState): void {
    clearTimeout(lane.timer);
    lane.timer = undefined;
    const crawls = Math.max(1, origin.lanes.size, lane.options.leases());
    const atOnce = Math.max(1, Math.floor((concurrency * origin.share) / crawls));
    const { rate, crawlDelayMs } = lane.options;
    const interval = Math.max(crawlDelayMs() * crawls, rate === null ? 0 : (1000 * crawls) / (rate * origin.share));
    while (lane.queue.length > 0 && lane.active < atOnce) {
      const at = now();
      const due = Math.max(lane.nextAt, origin.pausedUntil);
      if (due > at) {
        lane.timer = setTimeout(() => pump(origin, lane), Math.ceil(due - at));
        return;
      }
      const waiter = lane.queue.shift();
      if (waiter === undefined) return;
      waiter.signal.removeEventListener('abort', waiter.onAbort);
      lane.active++;
      lane.nextAt = at + interval;
      waiter.resolve();
    }
  }

  function note(origin: Origin, load: Load, wasAlone: boolean): void {
    const at = now();
    const isTooMany = load.kind === 'dropped' && origin.hasAnswered && !wasAlone;
    if (load.kind === 'fine' || load.kind === 'busy') origin.hasAnswered = true;
    if (load.kind === 'fine') {
      origin.share = Math.min(1, origin.share + origin.regain);
      if (origin.share === 1) origin.regain = REGAIN;
      return;
    }
    const asked = load.kind === 'busy' ? load.retryAfterMs : null;
    if (load.kind === 'busy' || isTooMany)
      origin.pausedUntil = Math.max(origin.pausedUntil, at + Math.min(maxPauseMs, asked ?? DEFAULT_PAUSE_MS));
    if (at - origin.halvedAt < HALVE_EVERY_MS) return;
    origin.halvedAt = at;
    if (isTooMany) origin.regain = Math.max(SLOWEST_REGAIN, origin.regain / 2);
    else if (load.kind === 'dropped') origin.regain = REGAIN;
    origin.share = Math.max(SLOWEST, origin.share / 2);
  }

  /** The last crawl at it has left. */
  function rest(name: string, origin: Origin): void {
    origins.delete(name);
    if (origin.share === 1 && origin.pausedUntil <= now()) return;
    resting.set(name, origin);
    const [leftFirst] = resting.keys();
    if (resting.size > MAX_RESTING && leftFirst !== undefined) resting.delete(leftFirst);
  }

  return {
    lane(name, options) {
      const origin = origins.get(name) ?? resting.get(name) ?? newOrigin();
      resting.delete(name);
      origins.set(name, origin);
      const lane: LaneState = { options, queue: [], active: 0, nextAt: 0, timer: undefined };
      origin.lanes.add(lane);
      return {
        acquire(signal) {
          if (signal.aborted) return Promise.reject(signal.reason);
          const turn = Promise.withResolvers<void>();
          const waiter: Waiter = {
            ...turn,
            signal,
            onAbort() {
              lane.queue.splice(lane.queue.indexOf(waiter), 1);
              turn.reject(signal.reason);
            },
          };
          signal.addEventListener('abort', waiter.onAbort, { once: true });
          lane.queue.push(waiter);
          pump(origin, lane);
          return turn.promise;
        },
        done(load) {
          const wasAlone = [...origin.lanes].every((other) => other.active === (other === lane ? 1 : 0));
          lane.active--;
          if (load !== null) note(origin, load, wasAlone);
          pump(origin, lane);
        },
        leave() {
          clearTimeout(lane.timer);
          origin.lanes.delete(lane);
          if (origin.lanes.size === 0) rest(name, origin);
          for (const other of origin.lanes) pump(origin, other);
        },
      };
    },
  };
}
