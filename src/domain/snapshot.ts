import type { Counters } from './batch.ts';
import type { CrawlPhase, CrawlState, EndReason } from './crawl.ts';
import type { CrawlId, EpochMs, OrganizationId, SiteId } from './ids.ts';

/** A crawl's public fields at one version. `discovered = fetched + redirected + failed + blocked + queued` holds in each. */
export type Snapshot = {
  readonly id: CrawlId;
  readonly organizationId: OrganizationId;
  readonly siteId: SiteId;
  /** The start URL. */
  readonly url: string;
  /** Its hostname without port, punycode. */
  readonly host: string;
  /** Its hostname plus a non-default port. */
  readonly authority: string;
  readonly state: CrawlState;
  readonly phase: CrawlPhase;
  /** Null until finished. */
  readonly endReason: EndReason | null;
  /** One human sentence; null unless the state is `failed`. */
  readonly error: string | null;
  readonly maxUrls: number;
  readonly maxDepth: number;
  readonly counters: Counters;
  readonly frontierTruncated: boolean;
  /** Null until analysis has completed. */
  readonly findingsCount: number | null;
  /** Somebody asked to end it; its worker has not done so yet. */
  readonly cancelRequested: boolean;
  /** When the start was accepted, by the store's clock; never changes. */
  readonly startedAt: EpochMs;
  /** Null until finished. */
  readonly finishedAt: EpochMs | null;
  /** +1 with every change that a reader can see. */
  readonly version: number;
};

/** Pages still in the frontier. */
export const urlsQueued = ({ discovered, fetched, redirected, failed, blocked }: Counters): number =>
  discovered - fetched - redirected - failed - blocked;

export const isFinal = (snapshot: Pick<Snapshot, 'state'>): boolean => snapshot.state !== 'running';
