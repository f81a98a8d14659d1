/** Bounds how often something is done. */
export type Pace = {
  /** When it may be done next; in the past when it may be done now. */
  readonly next: () => number;
  readonly done: (at: number) => void;
};

/**
 * Once each `everyMs`, and once ahead of that. Without the one ahead, what comes by itself as often as is allowed would be late each
 * time by as much as it was late once, or as what came first was out of its step: nothing could be made up for.
 */
export function createPace(everyMs: number): Pace {
  /** When the one after the next would be in step. */
  let due = Number.NEGATIVE_INFINITY;
  return {
    next: () => due - everyMs,
    done(at) {
      due = Math.max(at, due) + everyMs;
    },
  };
}

/** No bound. */
export const NO_PACE: Pace = { next: () => Number.NEGATIVE_INFINITY, done() {} };
