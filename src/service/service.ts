import { randomUUID } from 'node:crypto';
import type { Bus } from '#bus/bus.ts';
import type { Network } from '#domain/address.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Timers } from '#domain/timers.ts';
import type { RequestCounter } from '#limiter/request-counter.ts';
import type { Store } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { type AdmitScrape, createAdmitScrape } from './admit-scrape.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';
import { type CancelCrawl, createCancelCrawl } from './cancel-crawl.ts';
import { createDeleteCrawl, type DeleteCrawl } from './delete-crawl.ts';
import { createGetApiKey, createGetOrganization, type GetApiKey, type GetOrganization } from './get-account.ts';
import { createGetCrawl, type GetCrawl } from './get-crawl.ts';
import { createGetQueuePositions, type GetQueuePositions } from './get-queue-positions.ts';
import { createGetSites, type GetSites } from './get-sites.ts';
import { createGetStartAllowance, type GetStartAllowance } from './get-start-allowance.ts';
import { createGetUsage, type GetUsage } from './get-usage.ts';
import { createLimitRequests, type LimitRequests } from './limit-requests.ts';
import { createListCrawls, type ListCrawls } from './list-crawls.ts';
import { createListFindings, type DescribeRule, type ListFindings } from './list-findings.ts';
import { createListPages, type ListPages } from './list-pages.ts';
import { createListSites, type ListSites } from './list-sites.ts';
import { type CountCrawls, createCountCrawls, createPageCrawls, type PageCrawls } from './page-crawls.ts';
import { createStartCrawl, type StartCrawl } from './start-crawl.ts';
import { createWatchHub, type WatchHub } from './watch-crawl.ts';

/** Every use case, as REST and GraphQL call them. */
export type Service = Pick<WatchHub, 'watchCrawl' | 'watchOrganization' | 'followKey' | 'confirmKey' | 'readWatched'> & {
  readonly authenticate: Authenticate;
  readonly admitScrape: AdmitScrape;
  readonly limitRequests: LimitRequests;
  readonly startCrawl: StartCrawl;
  readonly getStartAllowance: GetStartAllowance;
  readonly getCrawl: GetCrawl;
  readonly cancelCrawl: CancelCrawl;
  readonly deleteCrawl: DeleteCrawl;
  readonly listCrawls: ListCrawls;
  readonly pageCrawls: PageCrawls;
  readonly countCrawls: CountCrawls;
  readonly getQueuePositions: GetQueuePositions;
  readonly listPages: ListPages;
  readonly listFindings: ListFindings;
  readonly listSites: ListSites;
  readonly getSites: GetSites;
  readonly getOrganization: GetOrganization;
  readonly getApiKey: GetApiKey;
  readonly getUsage: GetUsage;
  /** See `WatchHub.stop`; called by the server before it waits for what is under way. */
  readonly stopWatching: () => void;
};

export type ServiceDeps = {
  readonly store: Store;
  readonly bus: Bus;
  readonly describeRule: DescribeRule;
  /** Non-public networks in which a crawl may start. */
  readonly allowedNetworks: readonly Network[];
  /** Requests a minute a key, starts aside; 0 = no limit. */
  readonly readLimitPerMinute: number;
  /** Counts those requests for all processes; without it each counts for itself. */
  readonly requestCounter?: RequestCounter;
  readonly timers: Timers;
  readonly log: Log;
  /** A clock that never goes back, in milliseconds. Default: that of the timers. */
  readonly now?: () => number;
  readonly newId?: () => CrawlId;
};

export function createService(deps: ServiceDeps): Service {
  const {
    store,
    bus,
    describeRule,
    allowedNetworks,
    timers,
    log,
    now = timers.now,
    newId = () => randomUUID() as string as CrawlId,
  } = deps;
  const { stop: stopWatching, ...watching } = createWatchHub({ store, bus, timers, log });
  const authenticate = createAuthenticate({ store, now });
  return {
    ...watching,
    stopWatching,
    authenticate,
    admitScrape: createAdmitScrape({ authenticate, timers }),
    limitRequests: createLimitRequests({ limitPerMinute: deps.readLimitPerMinute, now, counter: deps.requestCounter }),
    startCrawl: createStartCrawl({ store, bus, newId, allowedNetworks }),
    getStartAllowance: createGetStartAllowance({ store }),
    getCrawl: createGetCrawl({ store }),
    cancelCrawl: createCancelCrawl({ store, bus }),
    deleteCrawl: createDeleteCrawl({ store }),
    listCrawls: createListCrawls({ store }),
    pageCrawls: createPageCrawls({ store }),
    countCrawls: createCountCrawls({ store }),
    getQueuePositions: createGetQueuePositions({ store }),
    listPages: createListPages({ store }),
    listFindings: createListFindings({ store, describeRule }),
    listSites: createListSites({ store }),
    getSites: createGetSites({ store }),
    getOrganization: createGetOrganization({ store }),
    getApiKey: createGetApiKey({ store }),
    getUsage: createGetUsage({ store }),
  };
}
