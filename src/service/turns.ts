/**
 * Answers whether something may be done now. If not, `whenItComes` is called once it may: the caller asks again then, and is not refused.
 * Only so much is done before whatever else waits in the event loop gets its turn.
 */
export type TakeTurn = (whenItComes: () => void) => boolean;

/** Each is an update that somebody executes and writes, a few tenths of a millisecond at worst. */
const MOST_AT_ONCE = 50;

export function createTakeTurn(): TakeTurn {
  let taken = 0;
  const waiting = new Set<() => void>();

  function next(): void {
    taken = 0;
    for (const call of waiting) {
      if (taken === MOST_AT_ONCE) return;
      waiting.delete(call);
      call();
    }
  }

  return (whenItComes) => {
    if (taken === MOST_AT_ONCE) {
      waiting.add(whenItComes);
      return false;
    }
    if (taken++ === 0) setImmediate(next);
    return true;
  };
}
