import type { EpochMs, OrganizationId } from '#domain/ids.ts';
import { LIVING } from './account-reads.ts';
import type { Database } from './database.ts';
import type { CrawlDocument, EventDocument, OutboxEntry } from './documents.ts';
import { ifAbsent, untilWon } from './retry.ts';

/** What an outbox entry is told of: the crawl's times are those of its events. */
export type Told = Pick<CrawlDocument, '_id' | 'organizationId' | 'startedAt' | 'analyzingAt' | 'finishedAt' | 'outbox'>;

/** From the outbox of a crawl to its organization's log. Any number may relay the same at once: each event is there once. */
export type EventRelay = {
  /** Moves up to `most` events of a crawl, in their order; answers how many it took out of the outbox. */
  relayCrawl(crawl: Told, most: number): Promise<number>;
  /** The highest number that the organization's log has had; 0 before the first, null when the organization does not exist. */
  lastSeq(organizationId: OrganizationId): Promise<number | null>;
};

export function createEventRelay({ events, crawls, organizations }: Database): EventRelay {
  // Those that were swept are read last: they are noted before their events go.
  async function lastSeq(organizationId: OrganizationId): Promise<number | null> {
    const last = await events.findOne({ organizationId }, { sort: { seq: -1 }, projection: { seq: 1 } });
    const organization = await organizations.findOne({ id: organizationId, ...LIVING }, { projection: { sweptSeq: 1 } });
    return organization === null ? null : Math.max(last?.seq ?? 0, organization.sweptSeq);
  }

  function eventOf(crawl: Told, { key, type, snapshot }: OutboxEntry): Omit<EventDocument, 'seq'> {
    const final = type === 'crawl.done' || type === 'crawl.failed';
    const at = (final ? crawl.finishedAt : type === 'crawl.analyzing' ? crawl.analyzingAt : null) ?? crawl.startedAt;
    const finishedAt: EpochMs | null = final ? at.getTime() : null;
    return { organizationId: crawl.organizationId, key, type, crawlId: crawl._id, at, snapshot: { ...snapshot, finishedAt } };
  }

  return {
    lastSeq,
    async relayCrawl(crawl, most) {
      const { organizationId } = crawl;
      const entries = crawl.outbox.slice(0, most);
      if (entries.length === 0) return 0;
      for (const entry of entries) {
        const event = eventOf(crawl, entry);
        const isThere = async (): Promise<boolean> =>
          (await events.findOne({ organizationId, key: event.key }, { projection: { _id: 1 } })) !== null;
        await untilWon(async () => {
          const last = await lastSeq(organizationId);
          if (last === null) return true; // the log goes, too
          const seq = last + 1;
          if (await ifAbsent(() => events.insertOne({ ...event, seq }))) return true;
          // The key is taken: another relay has done it. Or the number is: the next one, then.
          return (await isThere()) ? true : undefined;
        });
      }
      const keys = entries.map(({ key }) => key);
      const { modifiedCount } = await crawls.updateOne(
        { _id: crawl._id, 'outbox.key': { $in: keys } },
        { $pull: { outbox: { key: { $in: keys } } } },
      );
      return modifiedCount === 0 ? 0 : entries.length;
    },
  };
}
