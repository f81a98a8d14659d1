import type { Caller, Scope } from '#domain/account.ts';
import { Refusal } from '#domain/errors.ts';

/** Throws `insufficient_scope` unless the caller's key has `scope`. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!caller.scopes.includes(scope)) throw new Refusal('insufficient_scope', `The API key lacks the scope ${scope}.`);
}
