import { HEARTBEATS_PER_LEASE, LeaseLost } from '#domain/lease.ts';
import type { Claim, RunStore } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import type { Timers } from './timers.ts';

export type LeaseKeeper = {
  /** As the last heartbeat told. */
  leasesOnAuthority(): number;
  /** No heartbeat begins any more, and nobody is called. */
  end(): void;
};

export type LeaseKeeperDeps = {
  readonly store: Pick<RunStore, 'heartbeat'>;
  readonly claim: Claim;
  /** `timers.now()` before the claim was asked for: its lease lasts at least until `leaseMs` after that. */
  readonly leasedAt: number;
  readonly leaseMs: number;
  readonly timers: Timers;
  readonly log: Log;
  /** Called at most once: the store says so, or no heartbeat came through for the length of the lease. */
  readonly onLost: (reason: LeaseLost) => void;
  /** Called at each heartbeat that tells of it. */
  readonly onCancelRequested: () => void;
};

/**
 * Renews the lease each third of its length, and more often while that fails. Its end is an alarm of its own, so that a call that
 * hangs does not hide it; it counts from when the last successful heartbeat was sent, which is never later than the store does.
 */
export function keepLease(deps: LeaseKeeperDeps): LeaseKeeper {
  const { store, claim, leaseMs, timers, log } = deps;
  const beatMs = leaseMs / HEARTBEATS_PER_LEASE;
  let { leasesOnAuthority } = claim;
  let ended = false;
  let cancelBeat = () => {};
  let cancelExpiry = () => {};

  function end(): void {
    ended = true;
    cancelBeat();
    cancelExpiry();
  }

  function lose(why: string): void {
    end();
    deps.onLost(new LeaseLost(why));
  }

  function expireAt(at: number): void {
    cancelExpiry();
    cancelExpiry = timers.after(Math.max(0, at - timers.now()), () => lose('No heartbeat came through while the lease lasted.'));
  }

  function beatAt(at: number): void {
    cancelBeat = timers.after(Math.max(0, at - timers.now()), () => void beat());
  }

  async function beat(): Promise<void> {
    const sentAt = timers.now();
    try {
      const answer = await store.heartbeat(claim.snapshot.id, claim.token, leaseMs);
      if (ended) return;
      if (answer === 'lost') return lose('Another worker holds the crawl, or its lease has expired.');
      expireAt(sentAt + leaseMs);
      beatAt(sentAt + beatMs);
      ({ leasesOnAuthority } = answer);
      if (answer.cancelRequested) deps.onCancelRequested();
    } catch (error) {
      if (ended) return;
      log.warn({ err: error }, 'a heartbeat failed');
      beatAt(timers.now() + beatMs / 4);
    }
  }

  expireAt(deps.leasedAt + leaseMs);
  beatAt(deps.leasedAt + beatMs);
  return { leasesOnAuthority: () => leasesOnAuthority, end };
}
