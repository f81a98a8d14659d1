import type { Caller } from '#domain/account.ts';
import type { Refusal } from '#domain/errors.ts';

/**
 * Calls `onLost` once, at most 5 s after the caller's key was revoked or its secret replaced (`unauthorized`), or it lost a scope
 * that the caller has (`insufficient_scope`). Answers how to stop that. All followers of one secret share one look-up. While the
 * store does not answer nothing is known, and nothing is called.
 */
export type FollowKey = (caller: Caller, onLost: (refusal: Refusal) => void) => () => void;
