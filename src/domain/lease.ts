/** A crawl whose lease expires this many times in a row, with no page stored between, ends `worker_lost`. */
export const MAX_LOSSES = 5;
/** A lease is renewed each third of its length. */
export const HEARTBEATS_PER_LEASE = 3;

/** The sentence of a crawl that ended `worker_lost`. */
export const WORKER_LOST_ERROR = `The crawl was given up: ${MAX_LOSSES} workers in a row stopped responding while they ran it.`;
/** The sentence of a crawl that ended `cancelled`. */
export const CANCELLED_ERROR = 'The crawl was cancelled.';

/** Thrown by whoever runs a crawl and learns that another worker holds it now: nothing more may be written for it. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
