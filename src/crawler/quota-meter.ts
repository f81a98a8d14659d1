import type { Month } from '#domain/batch.ts';
import type { EpochMs } from '#domain/ids.ts';
import { type Hold, monthOf } from '#domain/quota.ts';
import type { Grant } from '#store/store.ts';
import type { Ticket } from './frontier.ts';

/** Sees to it that no request is sent beyond what the crawl has been granted, also when they all turn out to be charged. */
export type QuotaMeter = {
  /**
   * Waits until charged + under way < granted in the month that it is then, and counts one more under way. 'exhausted': the
   * organization has nothing left and nobody, this crawl included, holds anything that may come free. Rejects when stopped.
   */
  readonly acquire: () => Promise<Ticket | 'exhausted'>;
  /** The request was answered with a page: uses the ticket up. */
  readonly charge: (ticket: Ticket) => void;
  /** It was not: the next request may have it. */
  readonly release: (ticket: Ticket) => void;
};

type Deps = {
  readonly holds: readonly Hold[];
  readonly grant: (month: Month, wanted: number) => Promise<Grant>;
  /** Pages that the crawl may still fetch, those under way included. */
  readonly wanted: () => number;
  readonly now: () => EpochMs;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Told of a failed grant; the waiting ones are rejected with the same. */
  readonly onError: (error: unknown) => void;
};

type Account = { granted: number; used: number; underWay: number };
/** The next grant is asked for while this many are left, so that nobody waits for it. */
const AHEAD = 32;

export function createQuotaMeter({ holds, grant, wanted, now, waitMs, signal, onError }: Deps): QuotaMeter {
  const accounts = new Map<Month, Account>(holds.map(({ month, granted, used }) => [month, { granted, used, underWay: 0 }]));
  const waiting: PromiseWithResolvers<Ticket | 'exhausted'>[] = [];
  let asking = false;
  /** Until when a refused question is not repeated. */
  let quietUntil = 0;
  let timer: NodeJS.Timeout | undefined;

  const accountOf = (month: Month): Account => {
    const known = accounts.get(month);
    if (known !== undefined) return known;
    const fresh = { granted: 0, used: 0, underWay: 0 };
    accounts.set(month, fresh);
    return fresh;
  };
  const freeOf = ({ granted, used, underWay }: Account): number => granted - used - underWay;

  function take(): Ticket | null {
    const month = monthOf(now());
    const account = accountOf(month);
    if (freeOf(account) <= 0) return null;
    account.underWay++;
    return { month };
  }

  function pump(): void {
    while (waiting.length > 0) {
      const ticket = take();
      if (ticket === null) break;
      waiting.shift()?.resolve(ticket);
    }
    const account = accountOf(monthOf(now()));
    const short = wanted() - (account.granted - account.used);
    if (waiting.length > 0 ? !asking : !asking && short > 0 && freeOf(account) < AHEAD && now() >= quietUntil) ask(Math.max(1, short));
  }

  function ask(count: number): void {
    if (signal.aborted || (waiting.length > 0 && now() < quietUntil)) return;
    asking = true;
    const month = monthOf(now());
    grant(month, count).then(
      (answer) => {
        asking = false;
        const account = accountOf(month);
        // The store tells the same total again while unused pages of it are under way: only their end can bring more.
        if (answer.kind === 'granted' && answer.granted > account.granted) account.granted = answer.granted;
        else {
          quietUntil = now() + waitMs;
          if (answer.kind === 'exhausted' && account.underWay === 0 && month === monthOf(now()))
            for (const waiter of waiting.splice(0)) waiter.resolve('exhausted');
          clearTimeout(timer);
          timer = setTimeout(() => {
            quietUntil = 0;
            if (waiting.length > 0) pump();
          }, waitMs);
        }
        pump();
      },
      (error) => {
        asking = false;
        for (const waiter of waiting.splice(0)) waiter.reject(error);
        onError(error);
      },
    );
  }

  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer);
      for (const waiter of waiting.splice(0)) waiter.reject(signal.reason);
    },
    { once: true },
  );

  return {
    acquire() {
      const ticket = waiting.length === 0 ? take() : null;
      if (ticket !== null) {
        pump();
        return Promise.resolve(ticket);
      }
      if (signal.aborted) return Promise.reject(signal.reason);
      const waiter = Promise.withResolvers<Ticket | 'exhausted'>();
      waiting.push(waiter);
      pump();
      return waiter.promise;
    },
    charge({ month }) {
      const account = accountOf(month);
      account.underWay--;
      account.used++;
      if (waiting.length > 0) pump();
    },
    release({ month }) {
      accountOf(month).underWay--;
      if (waiting.length > 0) pump();
    },
  };
}
