import { hash } from 'node:crypto';
import type { Caller } from '#domain/account.ts';
import { Refusal } from '#domain/errors.ts';
import type { Store } from '#store/store.ts';

/**
 * Who holds the secret. Throws `unauthorized` when no living key has it. An answer, a refusal too, is at most a second old: a revoked
 * key stops within that time.
 */
export type Authenticate = (secret: string) => Promise<Caller>;

type Deps = {
  readonly store: Pick<Store, 'findKeyBySecret'>;
  /** A clock that never goes back, in milliseconds. */
  readonly now: () => number;
};

/** How long an answer is kept, counted from before the store was asked; less than the promised second. */
const KEPT_MS = 900;
/** Secrets whose answers are kept; beyond that the oldest go, so that guessing costs look-ups and not memory. */
const MOST_KEPT = 10_000;

type Kept = { readonly caller: Promise<Caller | null>; readonly until: number };

export function createAuthenticate({ store, now }: Deps): Authenticate {
  const kept = new Map<string, Kept>();

  async function lookUp(secretHash: string): Promise<Caller | null> {
    const key = await store.findKeyBySecret(secretHash);
    return key === null ? null : { organizationId: key.organizationId, keyId: key.id, scopes: key.scopes, secretHash };
  }

  function keep(secretHash: string): Kept {
    const entry = { caller: lookUp(secretHash), until: now() + KEPT_MS };
    kept.delete(secretHash); // so that the map's order is the order of age
    kept.set(secretHash, entry);
    if (kept.size > MOST_KEPT) for (const oldest of kept.keys()) if (kept.delete(oldest)) break;
    return entry;
  }

  return async (secret) => {
    const secretHash = hash('sha256', secret);
    const known = kept.get(secretHash);
    const entry = known !== undefined && now() < known.until ? known : keep(secretHash);
    let caller: Caller | null;
    try {
      caller = await entry.caller;
    } catch (error) {
      if (kept.get(secretHash) === entry) kept.delete(secretHash); // a store that did not answer is asked again
      throw error;
    }
    if (caller === null) throw new Refusal('unauthorized', 'The API key is not known, or it was revoked.');
    return caller;
  };
}
