import type { CrawlEvent } from '#domain/event.ts';
import type { EpochMs, OrganizationId } from '#domain/ids.ts';

/** How long things are kept. */
export type Retention = {
  /** Final crawls, and the events of their organization. */
  readonly crawlsMs: number;
  readonly idempotencyMs: number;
};

/** The durable log, the removal of what is old, and who of many does such work for all. */
export type EventStore = {
  /**
   * Leader election: makes `candidate` the leader for `termMs` from now, when nobody leads or itself does; one of racing candidates.
   * Answers 0 when it leads, else in how many milliseconds the leader's term ends if it is not renewed. Spares work and guards
   * nothing: a leader that was paused does not know that its term has ended, so whatever it does must be safe beside others.
   */
  acquireLeadership(candidate: string, termMs: number): Promise<number>;
  /**
   * Moves up to `limit` events from the outboxes of crawls to the logs of their organizations: seq = last + 1, unique by key, so
   * that any number of relays may run. Answers how many it moved.
   */
  relayEvents(limit: number): Promise<number>;
  /** By seq, after `afterSeq` (0: from the start). */
  listEvents(organizationId: OrganizationId, afterSeq: number, limit: number): Promise<CrawlEvent[]>;
  /**
   * Removes one small step of what is left of organizations whose removal has begun, and of what is older than the retention: crawls
   * with their pages and findings, events, idempotency records, closed holds, expired robots. Answers how many records went; 0 when nothing is left to remove.
   */
  sweep(retention: Retention): Promise<number>;
  /** The store's time. */
  now(): Promise<EpochMs>;
};
