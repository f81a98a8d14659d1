import type { CrawlEvent } from '#domain/event.ts';
import type { EpochMs, OrganizationId } from '#domain/ids.ts';

/** How long things are kept. */
export type Retention = {
  /** Final crawls, and the events of their organization. */
  readonly crawlsMs: number;
  readonly idempotencyMs: number;
};

/** The durable log, and the removal of what is old. */
export type EventStore = {
  /**
   * Moves up to `limit` events from the outboxes of crawls to the logs of their organizations: seq = last + 1, unique by key, so
   * that any number of relays may run. Answers how many it moved.
   */
  relayEvents(limit: number): Promise<number>;
  /** By seq, after `afterSeq` (0: from the start). */
  listEvents(organizationId: OrganizationId, afterSeq: number, limit: number): Promise<CrawlEvent[]>;
  /**
   * Removes one small step of what is older than the retention: crawls with their pages and findings, events, idempotency
   * records, closed holds, expired robots. Answers how many records went; 0 when nothing is left to remove.
   */
  sweep(retention: Retention): Promise<number>;
  /** The store's time. */
  now(): Promise<EpochMs>;
};
