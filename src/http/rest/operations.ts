import { getUsage, listSites, ping } from './account-operations.ts';
import { cancelCrawl, deleteCrawl, getCrawl, listCrawls, listFindings, listPages, startCrawl } from './crawl-operations.ts';
import type { Operation } from './operation.ts';
import { watchCrawl } from './update-operations.ts';

/** Every call of `/v1`, in the order in which they are documented. */
export const OPERATIONS: readonly Operation[] = [
  startCrawl,
  listCrawls,
  getCrawl,
  watchCrawl,
  cancelCrawl,
  deleteCrawl,
  listPages,
  listFindings,
  listSites,
  getUsage,
  ping,
];
