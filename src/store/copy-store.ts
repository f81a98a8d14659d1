import type { ApiKey, Organization } from '#domain/account.ts';
import type { Month } from '#domain/batch.ts';
import type { Ending } from '#domain/crawl.ts';
import type { CrawlEvent } from '#domain/event.ts';
import type { Finding } from '#domain/finding.ts';
import type { CrawlId, EpochMs, KeyId, OrganizationId } from '#domain/ids.ts';
import type { PageWithLinks } from '#domain/page.ts';
import type { Hold } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { StartRing } from '#domain/start-ring.ts';
import type { SiteRecord } from './crawl-store.ts';

/** What is kept, a type a kind, as it goes from one store to another: whole, and in nobody's format. Leases do not go. */
export type Copies = {
  /** `lastEventSeq`: the highest number of its log that was ever given; numbers never start again. */
  readonly organization: Organization & { readonly lastEventSeq: number };
  /** `used` is all that was charged, `holds` what running crawls have of the month, by crawl id. */
  readonly usage: { readonly month: Month; readonly used: number; readonly holds: readonly CopiedHold[] };
  readonly site: SiteRecord;
  readonly page: PageWithLinks;
  readonly finding: Finding;
  /** `holds` are the open ones; `ending` is how the fetching ended, while it is analysed. */
  readonly crawl: Snapshot & {
    readonly changedAt: EpochMs;
    readonly losses: number;
    readonly batch: number;
    readonly ending: Ending | null;
    readonly holds: readonly Hold[];
  };
  readonly idempotency: {
    readonly key: string;
    readonly requestHash: string;
    readonly crawlId: CrawlId;
    readonly createdAt: EpochMs;
  };
  readonly event: CrawlEvent;
  readonly startRing: StartRing & { readonly keyId: KeyId };
  readonly key: ApiKey & { readonly secretHash: string };
};

export type CopiedHold = { readonly crawlId: CrawlId; readonly granted: number; readonly used: number };

export type CopyKind = keyof Copies;
/** In the order in which one organization's are inserted; of each crawl its pages and findings come before itself. */
export const COPY_KINDS = [
  'organization',
  'usage',
  'site',
  'page',
  'finding',
  'crawl',
  'idempotency',
  'event',
  'startRing',
  'key',
] as const satisfies readonly CopyKind[];

/** Whose records are meant; pages and findings are those of one crawl of it. */
export type CopyOwner<Kind extends CopyKind> = Kind extends 'page' | 'finding'
  ? { readonly organizationId: OrganizationId; readonly crawlId: CrawlId }
  : { readonly organizationId: OrganizationId };

/** What names a record among its owner's of that kind. */
export const COPY_KEYS: { readonly [Kind in CopyKind]: (record: Copies[Kind]) => string | number } = {
  organization: ({ id }) => id,
  usage: ({ month }) => month,
  site: ({ authority }) => authority,
  page: ({ seq }) => seq,
  finding: ({ ordinal }) => ordinal,
  crawl: ({ id }) => id,
  idempotency: ({ key }) => key,
  event: ({ seq }) => seq,
  startRing: ({ keyId }) => keyId,
  key: ({ id }) => id,
};

/**
 * Records as they are stored, for moving them to another store. For stores at rest: no server runs on them, and the outboxes are
 * relayed. What is not moved: leases, and findings that a run has not finished; closed holds; events that were not relayed; removed
 * crawls with what belongs to them, idempotency records that name none; robots.txt files, which are fetched again.
 */
export type CopyStore = {
  /**
   * The records that come after `after` (null: from the first) in an order that is the kind's own and does not change, at most
   * `limit`; none at the end. What a crash has left half done is completed by the reading: the end of a crawl by that of `usage`,
   * the last commit of one by that of the crawl, whose pages are whole from then on.
   */
  readCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, after: Copies[Kind] | null, limit: number): Promise<Copies[Kind][]>;
  /** Those that are stored under the keys (see `COPY_KEYS`) of `records`, in no order; what they contain may be another thing. */
  findCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): Promise<Copies[Kind][]>;
  /**
   * Stores the records that are absent, leaves those alone whose key, or whatever else is unique (a name, a secret, a URL), is taken,
   * and answers how many it stored. Each record is atomic, all of them are not; repeating the call is safe, and answers 0.
   *
   * Pages and findings are stored before their crawl. Until it is, nobody can see them; with it they become readable, a running one
   * claimable. A crawl of which `organization` and `usage` are absent can be neither read nor run. At most 1,000 records.
   */
  insertCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): Promise<number>;
  /** How many there are of the whole organization, pages and findings of all its crawls included; of the organization itself 1 or 0. */
  countCopies(kind: CopyKind, organizationId: OrganizationId): Promise<number>;
  /** Leases that have not expired: of workers that are running crawls, or have died just now. */
  countLiveLeases(): Promise<number>;
};
