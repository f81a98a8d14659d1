import { hash } from 'node:crypto';
import type { Caller } from '#domain/account.ts';
import { Refusal, unavailable } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import type { Authenticate } from './authenticate.ts';
import { requireScope } from './require-scope.ts';

/**
 * Whether the holder of the secret may read the metrics of this process. Throws `unauthorized`, `insufficient_scope`, `unavailable`.
 * They are needed most while the store does not answer: a key that it knew within the last 15 minutes is then taken all the same.
 */
export type AdmitScrape = (secret: string) => Promise<Caller>;

type Deps = { readonly authenticate: Authenticate; readonly timers: Timers };

const TRUSTED_MS = 15 * 60_000;
/** The longest that the store is waited for, in milliseconds; a scrape is given up after 10 s as a rule. */
const MOST_WAIT_MS = 2_000;
/** Keys with the scope are the operator's, and few. */
const MOST_TRUSTED = 100;

export function createAdmitScrape({ authenticate, timers }: Deps): AdmitScrape {
  /** By the hash of the secret, the oldest first. */
  const trusted = new Map<string, { readonly caller: Caller; readonly until: number }>();

  function trust(caller: Caller): void {
    trusted.delete(caller.secretHash);
    trusted.set(caller.secretHash, { caller, until: timers.now() + TRUSTED_MS });
    if (trusted.size > MOST_TRUSTED) for (const oldest of trusted.keys()) if (trusted.delete(oldest)) break;
  }

  async function ask(secret: string): Promise<Caller> {
    const late = Promise.withResolvers<never>();
    const stopWaiting = timers.after(MOST_WAIT_MS, () => late.reject(unavailable('The store does not answer.')));
    try {
      return await Promise.race([authenticate(secret), late.promise]);
    } finally {
      stopWaiting();
    }
  }

  return async (secret) => {
    try {
      const caller = await ask(secret);
      requireScope(caller, 'metrics');
      trust(caller);
      return caller;
    } catch (error) {
      const secretHash = hash('sha256', secret);
      const known = trusted.get(secretHash);
      if (known !== undefined && error instanceof Refusal && error.code === 'unavailable' && timers.now() < known.until)
        return known.caller;
      if (error instanceof Refusal && error.code !== 'unavailable') trusted.delete(secretHash);
      throw error;
    }
  };
}
