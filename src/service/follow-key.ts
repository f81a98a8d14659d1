import type { ApiKey, Caller } from '#domain/account.ts';
import { Refusal } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import type { Store } from '#store/store.ts';
import type { SparseWarn } from './sparse-warn.ts';

/**
 * Calls `onLost` once, at most 5 s after the caller's key was revoked or its secret replaced (`unauthorized`), or it lost a scope
 * that the caller has (`insufficient_scope`). Answers how to stop that. All followers of one secret share one look-up. While the
 * store does not answer nothing is known, and nothing is called.
 */
export type FollowKey = (caller: Caller, onLost: (refusal: Refusal) => void) => () => void;

/**
 * Throws `unauthorized` or `insufficient_scope` when the key does not have any more what the caller has, by a look-up that begins after
 * the call; its followers are then told at once. For what goes on under a right that was checked some time ago.
 */
export type ConfirmKey = (caller: Caller) => Promise<void>;

/** Between two look-ups of one secret; leaves the store time to answer within the promised 5 s. */
const CHECK_MS = 3_000;

type Deps = { readonly store: Pick<Store, 'findKeyBySecret'>; readonly timers: Timers; readonly warn: SparseWarn };
type Follower = { readonly caller: Caller; readonly onLost: (refusal: Refusal) => void };
type LookUp = { readonly answer: Promise<ApiKey | null>; next: Promise<ApiKey | null> | null };
type Followed = { readonly followers: Set<Follower>; stopAlarm: () => void };

/** `stop`: nobody is called any more, and nothing looked up for followers. */
export type FollowedKeys = { readonly followKey: FollowKey; readonly confirmKey: ConfirmKey; readonly stop: () => void };

export function createFollowKey({ store, timers, warn }: Deps): FollowedKeys {
  const keys = new Map<string, Followed>();
  const lookUps = new Map<string, LookUp>();
  let stopped = false;

  /** Never rejects. */
  async function check(secretHash: string, followed: Followed): Promise<void> {
    try {
      tell(followed, await store.findKeyBySecret(secretHash));
    } catch (error) {
      warn(error, 'whether a key still holds could not be looked up');
    }
    if (followed.followers.size > 0) followed.stopAlarm = timers.after(CHECK_MS, () => void check(secretHash, followed));
    else if (keys.get(secretHash) === followed) keys.delete(secretHash);
  }

  function tell({ followers }: Followed, key: ApiKey | null): void {
    for (const follower of followers) {
      const refusal = refusalOf(key, follower.caller);
      if (refusal !== null && followers.delete(follower)) follower.onLost(refusal);
    }
  }

  /** One look-up of a secret at a time; whoever asks meanwhile shares the next one. */
  function lookUp(secretHash: string): Promise<ApiKey | null> {
    const underWay = lookUps.get(secretHash);
    if (underWay === undefined) return beginLookUp(secretHash);
    const begin = (): Promise<ApiKey | null> => beginLookUp(secretHash);
    underWay.next ??= underWay.answer.then(begin, begin);
    return underWay.next;
  }

  function beginLookUp(secretHash: string): Promise<ApiKey | null> {
    const lookUp: LookUp = { answer: store.findKeyBySecret(secretHash), next: null };
    lookUps.set(secretHash, lookUp);
    const forget = (): void => {
      if (lookUp.next === null) lookUps.delete(secretHash);
    };
    lookUp.answer.then(forget, forget);
    return lookUp.answer;
  }

  function follow(secretHash: string): Followed {
    const followed: Followed = { followers: new Set(), stopAlarm: timers.after(CHECK_MS, () => void check(secretHash, followed)) };
    keys.set(secretHash, followed);
    return followed;
  }

  function drop(secretHash: string, followed: Followed): void {
    followed.followers.clear();
    followed.stopAlarm();
    if (keys.get(secretHash) === followed) keys.delete(secretHash);
  }

  return {
    followKey(caller, onLost) {
      if (stopped) return () => {};
      const { secretHash } = caller;
      const followed = keys.get(secretHash) ?? follow(secretHash);
      const follower: Follower = { caller, onLost };
      followed.followers.add(follower);
      return () => {
        if (followed.followers.delete(follower) && followed.followers.size === 0) drop(secretHash, followed);
      };
    },
    async confirmKey(caller) {
      const key = await lookUp(caller.secretHash);
      const refusal = refusalOf(key, caller);
      if (refusal === null) return;
      const followed = keys.get(caller.secretHash);
      if (followed !== undefined) tell(followed, key);
      throw refusal;
    },
    stop() {
      stopped = true;
      for (const [secretHash, followed] of keys) drop(secretHash, followed);
    },
  };
}

function refusalOf(key: ApiKey | null, { scopes }: Caller): Refusal | null {
  if (key === null) return new Refusal('unauthorized', 'The API key was revoked, or its secret replaced.');
  const lost = scopes.find((scope) => !key.scopes.includes(scope));
  return lost === undefined ? null : new Refusal('insufficient_scope', `The API key lost the scope ${lost}.`);
}
