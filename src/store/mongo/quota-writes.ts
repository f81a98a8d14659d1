import type { Month } from '#domain/batch.ts';
import type { CrawlId, EpochMs, OrganizationId } from '#domain/ids.ts';
import { chunkOf, type Hold } from '#domain/quota.ts';
import type { Grant } from '../run-store.ts';
import type { LightCrawl } from './crawl-records.ts';
import type { Database } from './database.ts';
import type { HoldDocument, UsageDocument } from './documents.ts';
import { ifAbsent, untilWon } from './retry.ts';

export type Charged = { readonly used: number; readonly reserved: number };

/**
 * The quota's arithmetic on one record for each organization and month. A crawl's charge is on the crawl itself, by the commit that
 * stored the pages, and comes here when the hold is closed: what is used is the sum of both.
 */
export type QuotaWrites = {
  /** The record of a month, under the organization's present limit; made when absent. Throws a `RangeError` without organization. */
  usageOf(organizationId: OrganizationId, month: Month): Promise<UsageDocument>;
  /** What is charged, and what is held and not used yet. */
  chargedIn(organizationId: OrganizationId, month: Month): Promise<Charged>;
  /** The open holds of a crawl. */
  holdsOf(crawl: LightCrawl): Promise<Hold[]>;
  /** Null when the hold is closed: the crawl has ended. The month must be among the crawl's `months` before. */
  grant(crawl: LightCrawl, month: Month, wanted: number): Promise<Grant | null>;
  /** Closes the holds of a crawl that has ended and gives back what is unused. Repeatable. */
  settle(crawl: LightCrawl): Promise<void>;
  /** Removes tombstones older than `before`; answers how many. */
  sweepHolds(before: EpochMs, limit: number): Promise<number>;
};

export const usageId = (organizationId: OrganizationId, month: Month): string => `${organizationId}:${month}`;
const ABSENT = { $exists: false } as const;

type OpenHold = { readonly crawl: CrawlId; readonly granted: number };
const openHolds = (usage: UsageDocument): OpenHold[] =>
  Object.entries(usage.holds).flatMap(([crawl, { granted, closedAt }]) =>
    closedAt === undefined ? [{ crawl: crawl as CrawlId, granted }] : [],
  );

export function createQuotaWrites({ organizations, usage, crawls }: Database): QuotaWrites {
  /** What each of these crawls was charged in `month`; those that are gone are left out. */
  async function chargesOf(ids: readonly CrawlId[], month: Month): Promise<Map<CrawlId, number>> {
    if (ids.length === 0) return new Map();
    const found = await crawls.find({ _id: { $in: [...ids] } }, { projection: { charged: 1 } }).toArray();
    return new Map(found.map(({ _id, charged }) => [_id, charged[month] ?? 0]));
  }

  const usageOf: QuotaWrites['usageOf'] = (organizationId, month) =>
    untilWon(async () => {
      const _id = usageId(organizationId, month);
      const [organization, found] = await Promise.all([organizations.findOne({ id: organizationId }), usage.findOne({ _id })]);
      if (organization === null) throw new RangeError(`There is no organization ${organizationId}.`);
      const { monthlyUrlQuota: limit, quotaVersion: limitVersion } = organization;
      if (found === null) {
        const first = { _id, limit, limitVersion, used: 0, free: limit, holds: {}, firstClosedAt: null, closings: 0 };
        return (await ifAbsent(() => usage.insertOne(first))) ? first : undefined;
      }
      if (found.limitVersion >= limitVersion) return found;
      const expected = { _id, limitVersion: found.limitVersion };
      await usage.updateOne(expected, { $set: { limit, limitVersion }, $inc: { free: limit - found.limit } });
      return undefined;
    });

  /** Closes one hold, or sets the tombstone of one that never was. Undefined when it changed meanwhile. */
  async function close(crawl: LightCrawl, month: Month): Promise<true | undefined> {
    const found = await usageOf(crawl.organizationId, month);
    const hold: HoldDocument | undefined = found.holds[crawl._id];
    if (hold?.closedAt !== undefined) return true;
    const path = `holds.${crawl._id}`;
    const used = crawl.charged[month] ?? 0;
    const closed = await usage.updateOne(
      {
        _id: found._id,
        [`${path}.granted`]: hold?.granted ?? ABSENT,
        [`${path}.closedAt`]: ABSENT,
        closings: found.closings,
      },
      {
        $set: { [`${path}.granted`]: hold?.granted ?? 0, [`${path}.used`]: used },
        $inc: { used, free: (hold?.granted ?? 0) - used, closings: 1 },
        $currentDate: { [`${path}.closedAt`]: true, ...(found.firstClosedAt === null && { firstClosedAt: true }) },
      },
    );
    return closed.matchedCount === 1 ? true : undefined;
  }

  return {
    usageOf,
    chargedIn: (organizationId, month) =>
      untilWon(async () => {
        const found = await usage.findOne({ _id: usageId(organizationId, month) });
        if (found === null) return { used: 0, reserved: 0 };
        const open = openHolds(found);
        const charges = await chargesOf(
          open.map(({ crawl }) => crawl),
          month,
        );
        let { used } = found;
        let reserved = 0;
        for (const { crawl, granted } of open) {
          const charged = charges.get(crawl);
          // It was settled and removed between the two reads.
          if (charged === undefined) return undefined;
          used += charged;
          // Above it when the crawl got and used another grant between them.
          reserved += Math.max(0, granted - charged);
        }
        return { used, reserved };
      }),
    async holdsOf({ _id, organizationId, months, charged }) {
      if (months.length === 0) return [];
      const ids = new Map(months.map((month) => [usageId(organizationId, month), month]));
      const found = await usage.find({ _id: { $in: [...ids.keys()] } }, { projection: { [`holds.${_id}`]: 1 } }).toArray();
      return found.flatMap(({ _id: id, holds }) => {
        const month = ids.get(id) ?? '';
        const hold = holds[_id];
        return hold === undefined || hold.closedAt !== undefined ? [] : [{ month, granted: hold.granted, used: charged[month] ?? 0 }];
      });
    },
    grant: ({ _id, organizationId, charged }, month, wanted) =>
      untilWon<Grant | null>(async () => {
        const found = await usageOf(organizationId, month);
        const hold: HoldDocument | undefined = found.holds[_id];
        if (hold?.closedAt !== undefined) return null;
        const granted = hold?.granted ?? 0;
        const used = charged[month] ?? 0;
        const chunk = chunkOf(Math.max(0, found.free), wanted);
        if (chunk === 0) {
          // A crawl that still holds unused pages is told of them: the answer to its last grant may have been lost.
          if (granted > used) return { kind: 'granted', granted, used };
          const others = openHolds(found).filter(({ crawl }) => crawl !== _id);
          const charges = await chargesOf(
            others.map(({ crawl }) => crawl),
            month,
          );
          return { kind: others.some(({ crawl, granted: held }) => held > (charges.get(crawl) ?? 0)) ? 'wait' : 'exhausted' };
        }
        const path = `holds.${_id}`;
        const expected = {
          _id: found._id,
          limitVersion: found.limitVersion,
          free: { $gte: chunk },
          [`${path}.granted`]: hold?.granted ?? ABSENT,
          [`${path}.closedAt`]: ABSENT,
        };
        const won = await usage.updateOne(expected, { $set: { [`${path}.granted`]: granted + chunk }, $inc: { free: -chunk } });
        return won.matchedCount === 1 ? { kind: 'granted', granted: granted + chunk, used } : undefined;
      }),
    async settle(crawl) {
      for (const month of crawl.months) await untilWon(() => close(crawl, month));
    },
    async sweepHolds(before, limit) {
      const found = await usage
        .find({ firstClosedAt: { $lte: new Date(before) } })
        .sort({ firstClosedAt: 1 })
        .limit(limit)
        .toArray();
      let removed = 0;
      for (const { _id, holds, closings } of found) {
        const closed = Object.entries(holds).flatMap(([crawl, { closedAt }]) => (closedAt === undefined ? [] : [{ crawl, closedAt }]));
        const old = closed.filter(({ closedAt }) => closedAt.getTime() <= before);
        const young = closed.filter(({ closedAt }) => closedAt.getTime() > before).map(({ closedAt }) => closedAt.getTime());
        const swept = await usage.updateOne(
          { _id, closings },
          {
            $inc: { closings: 1 },
            $set: { firstClosedAt: young.length === 0 ? null : new Date(Math.min(...young)) },
            $unset: Object.fromEntries(old.map(({ crawl }) => [`holds.${crawl}`, '' as const])),
          },
        );
        if (swept.matchedCount === 1) removed += old.length;
      }
      return removed;
    },
  };
}
