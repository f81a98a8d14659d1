import { Refusal, unavailable } from '#domain/errors.ts';
import type { KeyId } from '#domain/ids.ts';

/**
 * Takes a place, or `size` of them, for something that stays open, and answers how to give it back, which may be called more than once.
 * Throws `rate_limited` when the key would have more than it may have, `unavailable` when the process would.
 */
export type TakeSlot = (keyId: KeyId, size?: number) => () => void;

type Limits = {
  /** What is counted, in the plural. */
  readonly what: string;
  readonly perKey: number;
  readonly perProcess: number;
};

/** Nobody knows when one is given back: the wait that is proposed, in milliseconds. */
const RETRY_MS = 10_000;

export function createTakeSlot({ what, perKey, perProcess }: Limits): TakeSlot {
  const taken = new Map<KeyId, number>();
  let all = 0;

  return (keyId, size = 1) => {
    const own = taken.get(keyId) ?? 0;
    if (own + size > perKey) throw new Refusal('rate_limited', `An API key may have ${perKey} ${what} open.`, { retryAfterMs: RETRY_MS });
    if (all + size > perProcess) throw unavailable(`This server has its ${perProcess} ${what} open.`);
    taken.set(keyId, own + size);
    all += size;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      all -= size;
      const left = (taken.get(keyId) ?? 0) - size;
      if (left === 0) taken.delete(keyId);
      else taken.set(keyId, left);
    };
  };
}
