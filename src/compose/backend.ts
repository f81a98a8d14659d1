import type { MessagePort, TransferListItem } from 'node:worker_threads';
import type { Bus } from '#bus/bus.ts';
import type { Config } from '#config/config.ts';
import type { RequestCounter } from '#limiter/request-counter.ts';
import type { Store } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import type { ProcessMetrics } from './metrics.ts';
import type { Shutdown } from './shutdown.ts';

/** How a crawler thread gets at its store and bus: by ports to those of the main thread. */
export type SqliteLink = { readonly kind: 'sqlite'; readonly path: string; readonly storePort: MessagePort; readonly busPort: MessagePort };
/** By connections of its own; it tells by the port which leases it holds. */
export type SharedLink = { readonly kind: 'shared'; readonly storeUrl: string; readonly busUrl: string; readonly leasePort: MessagePort };
export type ThreadLink = SqliteLink | SharedLink;

/** What a crawler thread works with. */
export type ThreadParts = { readonly store: Store; readonly bus: Bus };

/** What only those who answer clients need. */
export type Front = { readonly bus: Bus; readonly requestCounter?: RequestCounter };

/** What a process stands on, opened; its parts are closed by the steps that were added to the shutdown. */
export type Backend = {
  readonly store: Store;
  /** Called at most once. */
  openFront(): Promise<Front>;
  /** For one new crawler thread. */
  linkThread(): { readonly link: ThreadLink; readonly transferList: readonly TransferListItem[] };
  /** Sees to it that the crawls of a thread that has ended unasked are resumed soon; each counts as a loss. */
  loseThread(): Promise<void>;
};

export type BackendDeps = {
  readonly config: Config;
  readonly log: Log;
  readonly shutdown: Shutdown;
  readonly metrics: ProcessMetrics;
  /** Ends the wait for a store that does not answer. */
  readonly signal: AbortSignal;
};

/**
 * The longest that each step of the stop may take, in milliseconds; ten seconds with all that is between them. A gateway drains for at
 * most as long as a crawler may take.
 */
export const STOP_LIMITS = { http: 2_500, crawler: 5_000, bus: 300, store: 2_000 };
/** How much sooner than its step a part is told to be done by itself, in milliseconds. */
export const AHEAD_MS = 500;
