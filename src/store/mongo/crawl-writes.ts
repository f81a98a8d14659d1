import { IDEMPOTENCY_MS } from '#domain/crawl.ts';
import { type CrawlId, type EpochMs, type KeyId, siteIdOf } from '#domain/ids.ts';
import { CANCELLED_ERROR } from '#domain/lease.ts';
import { monthOf, resetsAt } from '#domain/quota.ts';
import type { CrawlStore, CreateCrawlOutcome, NewCrawl } from '../crawl-store.ts';
import { LIVING } from './account-reads.ts';
import { idempotencyIdOf } from './crawl-ids.ts';
import { LIGHT, snapshotOf } from './crawl-records.ts';
import { type CrawlSteps, outboxEntry } from './crawl-steps.ts';
import { type Database, findLatest, findTimed } from './database.ts';
import type { CrawlDocument, IdempotencyDocument } from './documents.ts';
import type { QuotaWrites } from './quota-writes.ts';
import type { Removal } from './removal.ts';
import { ifAbsent, untilWon } from './retry.ts';
import { upsertSite } from './sites.ts';
import type { StartRings } from './start-rings.ts';

export type CrawlWrites = Pick<CrawlStore, 'createCrawl' | 'cancelCrawl' | 'deleteCrawl'>;

function newDocument({ id, organizationId, url, host, authority, maxUrls, maxDepth, idempotency }: NewCrawl, at: EpochMs): CrawlDocument {
  const startedAt = new Date(at);
  const crawl = {
    _id: id,
    organizationId,
    siteId: siteIdOf(organizationId, authority),
    url,
    host,
    authority,
    state: 'running',
    phase: 'queued',
    endReason: null,
    error: null,
    maxUrls,
    maxDepth,
    counters: { discovered: 0, fetched: 0, redirected: 0, failed: 0, blocked: 0 },
    frontierTruncated: false,
    findingsCount: null,
    cancelRequested: false,
    startedAt,
    analyzingAt: null,
    finishedAt: null,
    version: 1,
    changedAt: startedAt,
    lease: { token: null, beatAt: null, ms: 0 },
    losses: 0,
    batch: 0,
    pending: null,
    charged: {},
    months: [],
    ending: null,
    findingsRun: null,
    idempotencyKey: idempotency?.key ?? null,
    outbox: [],
  } as const satisfies CrawlDocument;
  return { ...crawl, outbox: [outboxEntry('crawl.started', snapshotOf(crawl))] };
}

export function createCrawlWrites(
  database: Database,
  steps: CrawlSteps,
  quota: QuotaWrites,
  rings: StartRings,
  removal: Removal,
): CrawlWrites {
  const { crawls, idempotency: records, organizations } = database;

  /** The record of the crawl's idempotency key while it counts; one that is too old is removed. */
  async function recordOf({ organizationId, idempotency }: NewCrawl, now: EpochMs): Promise<IdempotencyDocument | null> {
    if (idempotency === null) return null;
    const record = await records.findOne({ _id: idempotencyIdOf(organizationId, idempotency.key) });
    if (record === null || record.createdAt.getTime() > now - IDEMPOTENCY_MS) return record;
    await records.deleteOne({ _id: record._id, crawlId: record.crawlId });
    return null;
  }

  /** Makes the crawl's record where its key has none, and `changes` to it. False when the key has another crawl's by now. */
  async function remember({ id, organizationId, keyId, idempotency }: NewCrawl, changes: { $set?: { kept: true } } = {}): Promise<boolean> {
    if (idempotency === null) return true;
    const _id = idempotencyIdOf(organizationId, idempotency.key);
    const { requestHash } = idempotency;
    const fresh = { $setOnInsert: { requestHash, keyId }, $currentDate: { createdAt: true }, ...changes } as const;
    return ifAbsent(() => records.updateOne({ _id, crawlId: id }, fresh, { upsert: true }));
  }

  /** The key of a start that was refused after all is free again, unless another start with it has got a slot meanwhile. */
  async function forget({ id, organizationId, idempotency }: NewCrawl): Promise<void> {
    if (idempotency === null) return;
    await records.deleteOne({ _id: idempotencyIdOf(organizationId, idempotency.key), crawlId: id, kept: { $ne: true } });
  }

  /** One try; undefined when another caller has got ahead with the same idempotency key. */
  async function create(asked: NewCrawl): Promise<CreateCrawlOutcome | undefined> {
    const { organizationId, idempotency } = asked;
    const organization = await findTimed(organizations, { id: organizationId, ...LIVING });
    if (organization === null) return { kind: 'no_organization' };
    const month = monthOf(organization.now.getTime());
    const record = await recordOf(asked, organization.now.getTime());
    // Whoever meets a record goes on with the crawl that it names, under the key that it names: it may be half made.
    const id: CrawlId = record?.crawlId ?? asked.id;
    const keyId: KeyId = record?.keyId ?? asked.keyId;
    const [own, ring, existing, { used }] = await Promise.all([
      rings.look(asked.keyId, null),
      rings.look(keyId, id),
      crawls.findOne({ _id: id, organizationId }, { projection: LIGHT }),
      quota.chargedIn(organizationId, month),
    ]);
    const { starts } = own;
    if (record !== null && record.requestHash !== idempotency?.requestHash) return { kind: 'mismatch', starts };
    if (existing !== null) return { kind: 'replayed', snapshot: snapshotOf(existing), starts };
    if (used >= organization.monthlyUrlQuota) return { kind: 'quota_exceeded', resetsAt: resetsAt(month), starts };
    if (ring.waitMs > 0 && ring.takenAt === null) return { kind: 'rate_limited', retryAfterMs: ring.waitMs, starts };

    const crawl = { ...asked, id, keyId };
    if (record === null && !(await remember(crawl))) return undefined;
    const taken = await rings.take(keyId, id);
    if (taken.takenAt === null) {
      await forget(crawl);
      return { kind: 'rate_limited', retryAfterMs: taken.waitMs, starts: taken.starts };
    }
    // One that was refused with the same record may have taken it back, and another crawl may have the key since: it is the answer.
    if (!(await remember(crawl, { $set: { kept: true } }))) return undefined;
    const document = newDocument(crawl, taken.takenAt);
    const created = await ifAbsent(() => crawls.insertOne(document));
    const stored = created ? document : await findLatest(crawls, { _id: id, organizationId }, LIGHT);
    if (stored === null) throw new Error(`The crawl ${id} was written and is not there.`);
    await upsertSite(database, stored);
    const after = keyId === asked.keyId ? taken.starts : starts;
    return { kind: created ? 'created' : 'replayed', snapshot: snapshotOf(stored), starts: after };
  }

  return {
    createCrawl: (crawl) => untilWon(() => create(crawl)),
    cancelCrawl: (organizationId, id) =>
      untilWon(async () => {
        const crawl = await crawls.findOne({ _id: id, organizationId });
        if (crawl === null) return null;
        if (crawl.state !== 'running') return 'final';
        const { token } = crawl.lease;
        // What was fetched is analysed all the same, so only a crawl with nothing to analyse can end without a worker.
        if (crawl.phase === 'queued' && token === null)
          return (await steps.end(crawl, {}, { endReason: 'cancelled', error: CANCELLED_ERROR }, null)) ?? undefined;
        if (crawl.cancelRequested) return snapshotOf(crawl);
        const asked = await crawls.findOneAndUpdate(
          { _id: id, state: 'running', 'lease.token': token, cancelRequested: false },
          { $set: { cancelRequested: true }, $inc: { version: 1 }, $currentDate: { changedAt: true } },
          { returnDocument: 'after', projection: LIGHT },
        );
        return asked === null ? undefined : snapshotOf(asked);
      }),
    async deleteCrawl(organizationId, id) {
      const crawl = await crawls.findOne({ _id: id, organizationId });
      if (crawl === null) return null;
      if (crawl.state === 'running') return 'not_final';
      await removal.remove(crawl);
      return 'deleted';
    },
  };
}
