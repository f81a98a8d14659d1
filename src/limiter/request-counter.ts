import type { KeyId } from '#domain/ids.ts';

export type RequestCount = {
  /** Requests of the key in its present window, this one included. */
  readonly count: number;
  /** Until the window ends, in milliseconds; above 0. */
  readonly resetMs: number;
};

/** The port by which processes count the requests of a key together. */
export type RequestCounter = {
  /**
   * Counts a request; a key's window begins with the first request that finds none. Never rejects, and never waits long: null when
   * the processes cannot be asked now, and each has to count for itself.
   */
  count(keyId: KeyId): Promise<RequestCount | null>;
  /** Memoised; counts nothing afterwards. */
  close(): Promise<void>;
};
