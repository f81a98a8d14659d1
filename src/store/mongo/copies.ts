import type { Copies, CopyKind, CopyOwner, CopyStore } from '../copy-store.ts';
import { createAccountCopies } from './copy-accounts.ts';
import { createCrawlCopies } from './copy-crawls.ts';
import { createPageCopies } from './copy-pages.ts';
import type { CopyTable, CopyTables } from './copy-table.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import type { Database } from './database.ts';
import type { EventRelay } from './event-relay.ts';
import { LIVE_LEASE } from './lease-writes.ts';
import type { PageWrites } from './page-writes.ts';
import type { QuotaWrites } from './quota-writes.ts';

export function createCopies(database: Database, steps: CrawlSteps, quota: QuotaWrites, pages: PageWrites, relay: EventRelay): CopyStore {
  const tables: CopyTables = {
    ...createAccountCopies(database, steps, relay),
    ...createCrawlCopies(database, quota, pages),
    ...createPageCopies(database),
  };
  const tableOf = <Kind extends CopyKind>(kind: Kind): CopyTable<Kind> => tables[kind];
  return {
    readCopies: <Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, after: Copies[Kind] | null, limit: number) =>
      tableOf(kind).read(owner, after, limit),
    findCopies: <Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]) =>
      tableOf(kind).find(owner, records),
    insertCopies: <Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]) =>
      tableOf(kind).insert(owner, records),
    countCopies: (kind, organizationId) => tables[kind].count(organizationId),
    countLiveLeases: () => database.crawls.countDocuments({ state: 'running', ...LIVE_LEASE }),
  };
}
