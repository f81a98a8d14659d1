import type { CrawlId, EpochMs, OrganizationId } from './ids.ts';
import type { Snapshot } from './snapshot.ts';

export type EventType = 'crawl.started' | 'crawl.analyzing' | 'crawl.done' | 'crawl.failed';

/** An entry of an organization's durable log. */
export type CrawlEvent = {
  readonly organizationId: OrganizationId;
  /** 1, 2, 3 … without gaps within the organization. */
  readonly seq: number;
  /** Unique within the organization: `<crawl id>:<type>`; an event that is relayed twice is stored once. */
  readonly key: string;
  readonly type: EventType;
  readonly crawlId: CrawlId;
  readonly at: EpochMs;
  /** The crawl as it was at the event. */
  readonly snapshot: Snapshot;
};

export const eventKeyOf = (crawlId: CrawlId, type: EventType): string => `${crawlId}:${type}`;
