import type { MessagePort } from 'node:worker_threads';
import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import type { RunStore, Store } from '#store/store.ts';

/** A lease that a crawler thread has got, or holds no more. */
type LeaseNote = { readonly crawlId: CrawlId; readonly token: LeaseToken; readonly held: boolean };

/** A lease of so long has ended when it begins, in milliseconds. */
const NO_TIME_MS = 0;

/** The store as a thread uses it that tells `port` which leases it holds. */
export function noteLeases(store: Store, port: Pick<MessagePort, 'postMessage'>): Store {
  const note = (crawlId: CrawlId, token: LeaseToken, held: boolean): void => port.postMessage({ crawlId, token, held } satisfies LeaseNote);
  return {
    ...store,
    async claim(token, leaseMs) {
      const claim = await store.claim(token, leaseMs);
      if (claim !== null) note(claim.snapshot.id, token, true);
      return claim;
    },
    async finish(crawlId, token, ending, findingsCount) {
      const outcome = await store.finish(crawlId, token, ending, findingsCount);
      note(crawlId, token, false);
      return outcome;
    },
    async release(crawlId, token) {
      await store.release(crawlId, token);
      note(crawlId, token, false);
    },
  };
}

/** What the main thread knows of the leases of its crawler thread. */
export type HeldLeases = {
  /** Listens to the other end of what `noteLeases` was given. */
  follow(port: MessagePort): void;
  /**
   * For a thread that has died: lets its leases expire now instead of after their time. Whoever reaps next counts each as a loss, so
   * that a crawl that kills its workers is given up. Leases of other processes are not touched; one that is not known expires by itself.
   */
  expire(): Promise<void>;
};

export function createHeldLeases(store: Pick<RunStore, 'heartbeat'>): HeldLeases {
  const leases = new Map<LeaseToken, CrawlId>();
  let lastTold: Promise<void> = Promise.resolve();
  return {
    follow(port) {
      port.on('message', ({ crawlId, token, held }: LeaseNote) => {
        if (held) leases.set(token, crawlId);
        else leases.delete(token);
      });
      // after all that was told before the thread died
      lastTold = new Promise((resolve) => port.once('close', resolve));
    },
    async expire() {
      await lastTold;
      const left = [...leases];
      leases.clear();
      await Promise.all(left.map(([token, crawlId]) => store.heartbeat(crawlId, token, NO_TIME_MS)));
    },
  };
}
