import type { Scope } from '#domain/account.ts';
import type { Month } from '#domain/batch.ts';
import type { Ending } from '#domain/crawl.ts';
import type { EventType } from '#domain/event.ts';
import type { Finding } from '#domain/finding.ts';
import type { CrawlId, KeyId, LeaseToken, OrganizationId, SiteId } from '#domain/ids.ts';
import type { DiscoveredPage, PageResult, PageStatus } from '#domain/page.ts';
import type { Snapshot } from '#domain/snapshot.ts';

/** What is stored, a type a collection. Times are dates, set by the server wherever something promised hangs on them. */

/** The schema's version. The one document that always exists, which the server's time is read through. */
export type MetaDocument = { readonly _id: 'schema'; readonly version: number };

/** Beside it in `meta`, once there was a worker: who leads until `termMs` after `renewedAt`. */
export type LeaderDocument = {
  readonly _id: 'leader';
  readonly candidate: string;
  readonly renewedAt: Date;
  readonly termMs: number;
};

export type OrganizationDocument = {
  /** The name: it is unique. */
  readonly _id: string;
  readonly id: OrganizationId;
  readonly monthlyUrlQuota: number;
  /** +1 with each change of the quota, so that an older limit never replaces a newer one in `usage`. */
  readonly quotaVersion: number;
  readonly createdAt: Date;
  /** The highest number of its log that was swept: numbers never start again. */
  readonly sweptSeq: number;
  /** Since when it is being removed; absent otherwise. */
  readonly removedAt?: Date;
};

export type KeyDocument = {
  readonly _id: KeyId;
  readonly organizationId: OrganizationId;
  readonly name: string;
  readonly secretHash: string;
  readonly prefix: string;
  readonly scopes: Scope[];
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
};

export type RingDocument = {
  readonly _id: KeyId;
  readonly next: number;
  readonly slots: readonly { readonly at: Date; readonly crawl: CrawlId | null }[];
};

export type IdempotencyDocument = {
  /** `<organization id>:<idempotency key>`. */
  readonly _id: string;
  readonly requestHash: string;
  readonly crawlId: CrawlId;
  /** Whose ring the start takes a slot of, whoever completes it; null when it is complete, and was copied from another store. */
  readonly keyId: KeyId | null;
  readonly createdAt: Date;
  /** A start has a slot for the crawl: whoever was refused with the same record does not take it back any more. */
  readonly kept?: true;
};

export type SiteDocument = {
  readonly _id: SiteId;
  readonly organizationId: OrganizationId;
  readonly host: string;
  readonly authority: string;
  readonly firstCrawledAt: Date;
  readonly lastCrawledAt: Date;
};

/** The batch of the last commit: the redo record of its pages. */
export type Pending = {
  readonly token: LeaseToken;
  readonly discovered: readonly DiscoveredPage[];
  readonly results: readonly PageResult[];
};

/** An event whose time is that of the change it tells, which the crawl keeps. */
export type OutboxEntry = { readonly key: string; readonly type: EventType; readonly snapshot: Snapshot };

/** A snapshot, with the server's dates, and what is not shown. */
export type CrawlDocument = Omit<Snapshot, 'id' | 'startedAt' | 'finishedAt'> & {
  readonly _id: CrawlId;
  readonly startedAt: Date;
  readonly analyzingAt: Date | null;
  readonly finishedAt: Date | null;
  readonly changedAt: Date;
  /** It is held while `token` is not null, and has expired `ms` after the beat. */
  readonly lease: { readonly token: LeaseToken | null; readonly beatAt: Date | null; readonly ms: number };
  readonly losses: number;
  readonly batch: number;
  readonly pending: Pending | null;
  /** Pages charged, by month. */
  readonly charged: Readonly<Record<Month, number>>;
  /** The months in which it may have a hold; written before the hold is. */
  readonly months: readonly Month[];
  readonly ending: Ending | null;
  /** The run whose findings are valid. */
  readonly findingsRun: LeaseToken | null;
  readonly idempotencyKey: string | null;
  readonly outbox: readonly OutboxEntry[];
  /** It has ended, and its holds may still be open; absent otherwise. */
  readonly unsettled?: true;
};

/** A page; what its result brings is absent while it is queued. */
export type PageDocument = DiscoveredPageDocument & Partial<Omit<PageResult, 'seq' | 'status' | 'reason'>>;
type DiscoveredPageDocument = Omit<DiscoveredPage, 'status'> & {
  readonly crawl: CrawlId;
  readonly urlHash: string;
  readonly status: PageStatus;
};

export type FindingDocument = Finding & { readonly crawl: CrawlId; readonly run: LeaseToken };

export type HoldDocument = {
  readonly granted: number;
  /** What of it was charged; told by a copy that comes before its crawl. Otherwise the crawl knows. */
  readonly used?: number;
};

/** `free = limit − used − Σ granted of holds`; below 0 after the limit was lowered. The holds are those of crawls that run. */
export type UsageDocument = {
  /** `<organization id>:<month>`. */
  readonly _id: string;
  readonly limit: number;
  readonly limitVersion: number;
  /** What settled crawls were charged. */
  readonly used: number;
  readonly free: number;
  readonly holds: Readonly<Record<CrawlId, HoldDocument>>;
  /** +1 with each crawl that is settled, also one that has no hold. */
  readonly closings: number;
};

export type EventDocument = {
  readonly organizationId: OrganizationId;
  readonly seq: number;
  readonly key: string;
  readonly type: EventType;
  readonly crawlId: CrawlId;
  readonly at: Date;
  readonly snapshot: Snapshot;
};

/**
 * A crawl that was removed; what belongs to it is swept, and once more long after that: a worker that was paused in the midst of a batch
 * may have brought its pages in since.
 */
export type TrashDocument = {
  readonly _id: CrawlId;
  readonly idempotencyId: string | null;
  /** When all that belonged to it had gone. */
  readonly emptiedAt: Date | null;
};

/**
 * What is remembered of an organization that was removed, its name not, until what a writer may have brought in late, which was paused since
 * before the removal, has been looked for.
 */
export type RemovalDocument = {
  readonly _id: OrganizationId;
  /** Those of its keys that are gone: a start ring knows nothing else. */
  readonly keyIds: readonly KeyId[];
  /** When its record went. */
  readonly endedAt: Date | null;
};

export type RobotsDocument = {
  /** The origin. */
  readonly _id: string;
  readonly status: number | null;
  readonly body: string | null;
  readonly error: string | null;
  readonly fetchedAt: Date;
  readonly expiresAt: Date;
};
