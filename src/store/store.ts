import type { AccountStore } from './account-store.ts';
import type { CopyStore } from './copy-store.ts';
import type { CrawlStore } from './crawl-store.ts';
import type { EventStore } from './event-store.ts';
import type { RunStore } from './run-store.ts';

/**
 * The port to everything that is kept. Five parts by who calls them: accounts (operators, authentication), crawls (clients),
 * runs (workers), events (the relay and the sweeper) and copies (the move to another store).
 *
 * Every method: rejects with a `Refusal` `unavailable` when the store does not answer in time; whether a write that was rejected
 * so has happened is unknown, and repeating it with the same arguments is safe. Time is the store's. Each tenant's method takes
 * the organization and answers for it alone: another organization's record is as absent as one that does not exist.
 */
export type Store = AccountStore &
  CrawlStore &
  RunStore &
  EventStore &
  CopyStore & {
    /** Resolves when the store can read and write; rejects with `unavailable` otherwise. */
    ping(): Promise<void>;
    /** Ends after the writes under way; memoised. */
    close(): Promise<void>;
  };

export type * from './account-store.ts';
export type * from './copy-store.ts';
export type * from './crawl-store.ts';
export type * from './event-store.ts';
export type * from './run-store.ts';
