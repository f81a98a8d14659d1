import type { KeyId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';

/**
 * What an adapter's test gives the contract suite: stores to hold to it, and hands on the stored data where the suite needs time
 * to have passed. Stored times are moved back instead of a clock forward, so that a store whose clock is a server's can do it too.
 */
export type StoreHarness = {
  /** A new, empty, working store with its schema in place. */
  open(): Promise<OpenStore>;
  /** A new, empty store that is cut from its data by `fault`. Its schema is in place, and was not counted. */
  openFaulty(fault: Fault): Promise<FaultyStore>;
};

/**
 * When the store is cut from its data: once `cutAfter` writes (transactions, or write commands) have been applied, counted from 1
 * after the opening, none after them is. With `reply: 'kept'` the last of them is still answered and the next one finds the store
 * gone (`cutAfter: 0`: the very first); with 'lost' the last is applied and its answer never arrives. All calls under way then, and
 * all later ones, reject with `unavailable`.
 */
export type Fault = { readonly cutAfter: number; readonly reply: 'kept' | 'lost' };

export type OpenStore = Aging & {
  readonly store: Store;
  /** Every record that is stored, read past the store, as text: its fields and where it stands. */
  records(): Promise<string[]>;
  /** Closes the store if that has not been done, and removes its data. */
  close(): Promise<void>;
};

export type FaultyStore = {
  readonly store: Store;
  /** Whether the cut has happened. */
  wasCut(): boolean;
  /** A working store on the same data, as a restarted process opens it. Call once; closing it removes the data. */
  reopen(): Promise<OpenStore>;
};

/** Each resolves when the stored times are moved back by `ms`, written straight to the data. No other call is under way then. */
export type Aging = {
  /** The times in the ring of starts of a key. */
  ageStarts(keyId: KeyId, ms: number): Promise<void>;
  /** The beat, or expiry, of every lease. */
  ageLeases(ms: number): Promise<void>;
  /**
   * Everything that is kept for a time: startedAt, finishedAt and changedAt of crawls, events, idempotency records, the closing of
   * holds, what is remembered of removed crawls and organizations, robots (fetchedAt, expiresAt).
   */
  ageRecords(ms: number): Promise<void>;
};
