import type { EpochMs } from '#domain/ids.ts';
import { type AccountReads, createAccountReads } from './account-reads.ts';
import { type AccountWrites, createAccountWrites } from './account-writes.ts';
import { type CopyReads, createCopyReads } from './copy-reads.ts';
import { type CopyWrites, createCopyWrites } from './copy-writes.ts';
import { type CrawlLists, createCrawlLists } from './crawl-list.ts';
import { type CrawlReads, createCrawlReads } from './crawl-reads.ts';
import { createCrawlSteps } from './crawl-steps.ts';
import { type CrawlWrites, createCrawlWrites } from './crawl-writes.ts';
import { createEventReads, type EventReads } from './event-reads.ts';
import { createEventRelay, type EventRelay } from './event-relay.ts';
import { createEventWrites, type EventWrites } from './event-writes.ts';
import { createLeadership, type Leadership } from './leadership.ts';
import { createLeaseWrites, type LeaseWrites } from './lease-writes.ts';
import { createOrganizationRemovals, type OrganizationRemovals } from './organization-removal.ts';
import { createPageWrites } from './page-writes.ts';
import { createQuotaWrites } from './quota-writes.ts';
import { createRunReads, type RunReads } from './run-reads.ts';
import { createRunWrites, type RunWrites } from './run-writes.ts';
import type { Sql } from './sql.ts';
import { createTrash } from './trash.ts';
import { createTurns, type Turns } from './turns.ts';

/** What reads, on any connection. */
export type Reads = AccountReads & CrawlReads & CrawlLists & RunReads & Turns & EventReads & CopyReads;

/** What writes; each is called inside a transaction, and leaves nothing behind when it throws and is rolled back. */
export type Writes = AccountWrites &
  CrawlWrites &
  LeaseWrites &
  RunWrites &
  EventRelay &
  EventWrites &
  OrganizationRemovals &
  Leadership &
  CopyWrites & {
    /** Proves that the writing connection can begin a transaction. */
    ping(): void;
  };

export const createReads = (sql: Sql, now: () => EpochMs): Reads => ({
  ...createAccountReads(sql),
  ...createCrawlReads(sql, now),
  ...createCrawlLists(sql),
  ...createRunReads(sql, now),
  ...createTurns(sql),
  ...createEventReads(sql, now),
  ...createCopyReads(sql, now),
});

export function createWrites(sql: Sql, now: () => EpochMs): Writes {
  const quota = createQuotaWrites(sql);
  const steps = createCrawlSteps(sql, quota);
  const trash = createTrash(sql);
  const relay = createEventRelay(sql);
  const removals = createOrganizationRemovals(sql, now, relay, trash);
  return {
    ...createAccountWrites(sql, now),
    ...createCrawlWrites(sql, now, steps, quota),
    ...createLeaseWrites(sql, now, steps, quota),
    ...createRunWrites(sql, now, steps, quota, createPageWrites(sql)),
    ...relay,
    ...removals,
    ...createEventWrites(sql, now, trash, removals),
    ...createLeadership(now),
    ...createCopyWrites(sql),
    ping() {},
  };
}
