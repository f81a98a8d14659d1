import type { Store } from '../store.ts';
import { createAccountReads } from './account-reads.ts';
import { createAccountWrites } from './account-writes.ts';
import { createCopies } from './copies.ts';
import { createCrawlLists } from './crawl-list.ts';
import { createCrawlReads } from './crawl-reads.ts';
import { createCrawlSteps } from './crawl-steps.ts';
import { createCrawlWrites } from './crawl-writes.ts';
import type { Database } from './database.ts';
import { createEventReads } from './event-reads.ts';
import { createEventRelay } from './event-relay.ts';
import { createEventWrites } from './event-writes.ts';
import { createLeadership } from './leadership.ts';
import { createLeaseWrites } from './lease-writes.ts';
import { createOrganizationRemovals } from './organization-removal.ts';
import { createPageWrites } from './page-writes.ts';
import { createQuotaWrites } from './quota-writes.ts';
import { createRemoval } from './removal.ts';
import { createRunReads } from './run-reads.ts';
import { createRunWrites } from './run-writes.ts';
import { createStartRings } from './start-rings.ts';
import { createTurns } from './turns.ts';

/** The port without its end; errors are the driver's. */
export type Operations = Omit<Store, 'ping' | 'close'>;

export function createOperations(database: Database): Operations {
  const quota = createQuotaWrites(database);
  const rings = createStartRings(database);
  const pages = createPageWrites(database);
  const relay = createEventRelay(database);
  const steps = createCrawlSteps(database, quota, pages);
  const removal = createRemoval(database, steps, relay);
  const organizations = createOrganizationRemovals(database, removal);
  const turns = createTurns(database);
  return {
    ...createAccountReads(database),
    ...createAccountWrites(database, quota),
    ...createCrawlReads(database, quota, rings),
    ...createCrawlLists(database),
    ...createCrawlWrites(database, steps, quota, rings, removal),
    ...createLeaseWrites(database, steps, quota, pages, removal, turns),
    ...turns.port,
    ...createRunReads(database, pages),
    ...createRunWrites(database, steps, quota, pages),
    ...createEventReads(database),
    ...createLeadership(database),
    ...createEventWrites(database, relay, removal, organizations),
    ...organizations.port,
    ...createCopies(database, steps, quota, pages, relay),
  };
}
