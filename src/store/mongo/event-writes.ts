import type { EpochMs, OrganizationId } from '#domain/ids.ts';
import { TOMBSTONE_MS } from '#domain/quota.ts';
import type { EventStore } from '../event-store.ts';
import { atMost, type Database, deleteSome, timeOf } from './database.ts';
import type { EventRelay } from './event-relay.ts';
import type { OrganizationRemovals } from './organization-removal.ts';
import type { Removal } from './removal.ts';

/** The most records that one step of the sweep removes. */
const SWEEP_STEP = 500;
const SWEEP_CRAWLS = 50;

export type EventWrites = Pick<EventStore, 'relayEvents' | 'sweep'>;

export function createEventWrites(
  database: Database,
  relay: EventRelay,
  removal: Removal,
  organizationRemovals: OrganizationRemovals,
): EventWrites {
  const { crawls, events, organizations, idempotency, robots } = database;

  async function retireCrawls(before: EpochMs): Promise<number> {
    const old = await atMost(crawls.find({ finishedAt: { $lt: new Date(before) } }).sort({ finishedAt: 1 }), SWEEP_CRAWLS);
    for (const crawl of old) await removal.remove(crawl);
    return old.length;
  }

  async function sweepEvents(before: EpochMs): Promise<number> {
    const old = await atMost(
      events.find({ at: { $lt: new Date(before) } }, { projection: { organizationId: 1, seq: 1 } }).sort({ at: 1 }),
      SWEEP_STEP,
    );
    const swept = new Map<OrganizationId, number>();
    for (const { organizationId, seq } of old) swept.set(organizationId, Math.max(seq, swept.get(organizationId) ?? 0));
    // Before the events go: the numbers of a log never start again.
    for (const [id, sweptSeq] of swept) await organizations.updateOne({ id }, { $max: { sweptSeq } });
    return old.length === 0 ? 0 : (await events.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } })).deletedCount;
  }

  return {
    async relayEvents(limit) {
      const waiting = await atMost(
        crawls
          .find(
            { 'outbox.type': { $gt: '' } },
            { projection: { organizationId: 1, startedAt: 1, analyzingAt: 1, finishedAt: 1, outbox: 1 } },
          )
          .sort({ changedAt: 1 }),
        limit,
      );
      let moved = 0;
      for (const crawl of waiting) {
        if (moved >= limit) break;
        moved += await relay.relayCrawl(crawl, limit - moved);
      }
      return moved;
    },
    async sweep({ crawlsMs, idempotencyMs }) {
      const now = await timeOf(database);
      return (
        (await organizationRemovals.continueFirst()) ||
        (await removal.empty(SWEEP_STEP)) ||
        (await removal.emptyLate(SWEEP_STEP, now - TOMBSTONE_MS)) ||
        (await organizationRemovals.removeLate(now - TOMBSTONE_MS)) ||
        (await retireCrawls(now - crawlsMs)) ||
        (await sweepEvents(now - crawlsMs)) ||
        (await deleteSome(idempotency, { createdAt: { $lt: new Date(now - idempotencyMs) } }, SWEEP_STEP)) ||
        (await deleteSome(robots, { expiresAt: { $lte: new Date(now) } }, SWEEP_STEP))
      );
    },
  };
}
