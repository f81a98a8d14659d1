import type { Claim } from '#store/store.ts';

/**
 * Checks every rule over the stored pages of a claimed crawl and stores the findings of this run; answers how many. Streams over
 * the pages in bounded memory. Throws `LeaseLost` when a write answered so, and `signal.reason` when that is aborted.
 */
export type Analyze = (claim: Claim, signal: AbortSignal) => Promise<number>;
