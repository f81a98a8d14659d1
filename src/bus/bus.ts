import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';

/** What can be listened to: one crawl, every crawl of an organization, or every new crawl that waits for a worker. */
export type Topic =
  | { readonly kind: 'crawl'; readonly id: CrawlId }
  | { readonly kind: 'organization'; readonly id: OrganizationId }
  | { readonly kind: 'queued' };

/**
 * The port that tells of changes, between the parts of one process or between processes. It only makes updates fast: whatever is
 * published has been stored before, may get lost or come twice, and is found again by re-reading the store.
 */
export type Bus = {
  /**
   * Tells the listeners of the crawl, of its organization and, in phase `queued`, of the queue. Never rejects and never waits
   * for a listener: a failure is logged and counted.
   */
  publish(snapshot: Snapshot): Promise<void>;
  /**
   * Calls `listener` with every snapshot published from the moment this resolves until the returned function is called. The
   * listener must return at once; what it throws is logged and reaches nobody else.
   */
  subscribe(topic: Topic, listener: (snapshot: Snapshot) => void): Promise<() => void>;
  /** Calls `listener` after each time that messages may have been lost; answers how to stop that. */
  onGap(listener: () => void): () => void;
  /** Memoised; listeners are not called afterwards. */
  close(): Promise<void>;
};
