import type { Month } from '#domain/batch.ts';
import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import { chunkOf, type Hold } from '#domain/quota.ts';
import type { Grant } from '../run-store.ts';
import { LIVING } from './account-reads.ts';
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
  /** The record of a month, under the organization's present limit; made when absent. Null when the organization does not exist. */
  usageOf(organizationId: OrganizationId, month: Month): Promise<UsageDocument | null>;
  /** What is charged, and what is held and not used yet. */
  chargedIn(organizationId: OrganizationId, month: Month): Promise<Charged>;
  /** The open holds of a crawl. */
  holdsOf(crawl: LightCrawl): Promise<Hold[]>;
  /**
   * Null when the crawl has ended, or its organization is gone. `note`, called before the crawl gets its first pages of the month, puts the month among its `months`
   * and answers false when it is no longer held.
   */
  grant(crawl: LightCrawl, month: Month, wanted: number, note: () => Promise<boolean>): Promise<Grant | null>;
  /** Takes the holds of a crawl that has ended away and gives back what is unused. Repeatable. */
  settle(crawl: LightCrawl): Promise<void>;
};

export const usageId = (organizationId: OrganizationId, month: Month): string => `${organizationId}:${month}`;
const ABSENT = { $exists: false } as const;

type OpenHold = { readonly crawl: CrawlId; readonly granted: number };
const openHolds = (usage: UsageDocument): OpenHold[] =>
  Object.entries(usage.holds).map(([crawl, { granted }]) => ({ crawl: crawl as CrawlId, granted }));

export function createQuotaWrites({ organizations, usage, crawls }: Database): QuotaWrites {
  /** What each of these crawls was charged in `month`; those that are gone are left out. */
  async function chargesOf(ids: readonly CrawlId[], month: Month): Promise<Map<CrawlId, number>> {
    if (ids.length === 0) return new Map();
    const found = await crawls.find({ _id: { $in: [...ids] } }, { projection: { charged: 1 } }).toArray();
    return new Map(found.map(({ _id, charged }) => [_id, charged[month] ?? 0]));
  }

  const usageOf: QuotaWrites['usageOf'] = (organizationId, month) =>
    untilWon<UsageDocument | null>(async () => {
      const _id = usageId(organizationId, month);
      const ofOrganization = { id: organizationId, ...LIVING };
      const [organization, found] = await Promise.all([organizations.findOne(ofOrganization), usage.findOne({ _id })]);
      if (organization === null) return null;
      const { monthlyUrlQuota: limit, quotaVersion: limitVersion } = organization;
      if (found === null) {
        const first = { _id, limit, limitVersion, used: 0, free: limit, holds: {}, closings: 0 };
        return (await ifAbsent(() => usage.insertOne(first))) ? first : undefined;
      }
      if (found.limitVersion >= limitVersion) return found;
      const expected = { _id, limitVersion: found.limitVersion };
      await usage.updateOne(expected, { $set: { limit, limitVersion }, $inc: { free: limit - found.limit } });
      return undefined;
    });

  /**
   * Closes a hold, or sees to it that a first grant under way makes none: it expects the count of closings from before it has seen that
   * the crawl is held. Undefined when the hold changed meanwhile.
   */
  async function close(crawl: LightCrawl, month: Month): Promise<true | undefined> {
    const found = await usageOf(crawl.organizationId, month);
    if (found === null) return true;
    const hold: HoldDocument | undefined = found.holds[crawl._id];
    const path = `holds.${crawl._id}`;
    const used = crawl.charged[month] ?? 0;
    const closed = await usage.updateOne(
      { _id: found._id, [`${path}.granted`]: hold?.granted ?? ABSENT },
      hold === undefined
        ? { $inc: { closings: 1 } }
        : { $unset: { [path]: '' as const }, $inc: { used, free: hold.granted - used, closings: 1 } },
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
        return hold === undefined ? [] : [{ month, granted: hold.granted, used: charged[month] ?? 0 }];
      });
    },
    grant: ({ _id, organizationId, charged }, month, wanted, note) =>
      untilWon<Grant | null>(async () => {
        const found = await usageOf(organizationId, month);
        if (found === null) return null;
        const hold: HoldDocument | undefined = found.holds[_id];
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
        if (hold === undefined && !(await note())) return null;
        const path = `holds.${_id}`;
        const expected = {
          _id: found._id,
          limitVersion: found.limitVersion,
          free: { $gte: chunk },
          [`${path}.granted`]: hold?.granted ?? ABSENT,
          ...(hold === undefined && { closings: found.closings }),
        };
        const won = await usage.updateOne(expected, { $set: { [`${path}.granted`]: granted + chunk }, $inc: { free: -chunk } });
        return won.matchedCount === 1 ? { kind: 'granted', granted: granted + chunk, used } : undefined;
      }),
    async settle(crawl) {
      for (const month of crawl.months) await untilWon(() => close(crawl, month));
    },
  };
}
