import { randomUUID } from 'node:crypto';
import type { Bus } from '#bus/bus.ts';
import type { Network } from '#domain/address.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { RequestCounter } from '#limiter/request-counter.ts';
import type { Store } from '#store/store.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';
import { type CancelCrawl, createCancelCrawl } from './cancel-crawl.ts';
import { createDeleteCrawl, type DeleteCrawl } from './delete-crawl.ts';
import { createGetCrawl, type GetCrawl } from './get-crawl.ts';
import { createGetStartAllowance, type GetStartAllowance } from './get-start-allowance.ts';
import { createGetUsage, type GetUsage } from './get-usage.ts';
import { createLimitRequests, type LimitRequests } from './limit-requests.ts';
import { createListCrawls, type ListCrawls } from './list-crawls.ts';
import { createListFindings, type DescribeRule, type ListFindings } from './list-findings.ts';
import { createListPages, type ListPages } from './list-pages.ts';
import { createListSites, type ListSites } from './list-sites.ts';
import { createStartCrawl, type StartCrawl } from './start-crawl.ts';

/** Every use case, as REST and later GraphQL call them. */
export type Service = {
  readonly authenticate: Authenticate;
  readonly limitRequests: LimitRequests;
  readonly startCrawl: StartCrawl;
  readonly getStartAllowance: GetStartAllowance;
  readonly getCrawl: GetCrawl;
  readonly cancelCrawl: CancelCrawl;
  readonly deleteCrawl: DeleteCrawl;
  readonly listCrawls: ListCrawls;
  readonly listPages: ListPages;
  readonly listFindings: ListFindings;
  readonly listSites: ListSites;
  readonly getUsage: GetUsage;
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
  /** A clock that never goes back, in milliseconds. */
  readonly now?: () => number;
  readonly newId?: () => CrawlId;
};

export function createService(deps: ServiceDeps): Service {
  const {
    store,
    bus,
    describeRule,
    allowedNetworks,
    now = () => performance.now(),
    newId = () => randomUUID() as string as CrawlId,
  } = deps;
  return {
    authenticate: createAuthenticate({ store, now }),
    limitRequests: createLimitRequests({ limitPerMinute: deps.readLimitPerMinute, now, counter: deps.requestCounter }),
    startCrawl: createStartCrawl({ store, bus, newId, allowedNetworks }),
    getStartAllowance: createGetStartAllowance({ store }),
    getCrawl: createGetCrawl({ store }),
    cancelCrawl: createCancelCrawl({ store, bus }),
    deleteCrawl: createDeleteCrawl({ store }),
    listCrawls: createListCrawls({ store }),
    listPages: createListPages({ store }),
    listFindings: createListFindings({ store, describeRule }),
    listSites: createListSites({ store }),
    getUsage: createGetUsage({ store }),
  };
}
