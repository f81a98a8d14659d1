import type { Filter } from 'mongodb';
import type { EpochMs, OrganizationId } from '#domain/ids.ts';
import type { AccountStore } from '../account-store.ts';
import { LIVING, REMOVED, removalOf } from './account-reads.ts';
import { idsOf } from './copy-accounts.ts';
import { HELD } from './crawl-steps.ts';
import { atMost, type Database, deleteSome } from './database.ts';
import type { CrawlDocument, OrganizationDocument } from './documents.ts';
import type { Removal } from './removal.ts';
import { ifAbsent, untilWon } from './retry.ts';

export type OrganizationRemovals = {
  readonly port: Pick<AccountStore, 'beginOrganizationRemoval' | 'continueOrganizationRemoval'>;
  /** One step of the removal that is the first to find. Answers as `continueOrganizationRemoval`. */
  continueFirst(): Promise<number>;
  /**
   * One step of what came late to organizations whose removal ended before `before`, which are forgotten with it. Answers how many records
   * were dealt with; 0: there is no such organization.
   */
  removeLate(before: EpochMs): Promise<number>;
};

/** The most records that one step takes. */
const STEP = 500;

/**
 * The mark on the organization's record is the commit point. A writer that has read the record before may still come after a step has
 * found nothing: who claims a crawl looks at the record again, and everything is looked through once more a day after the end.
 */
export function createOrganizationRemovals(database: Database, removal: Removal): OrganizationRemovals {
  const { organizations, removals, crawls, keys, rings, idempotency, usage, sites, events } = database;

  /** Its ids are noted before a key goes: the ring of one that was starting something may come after it. */
  async function removeKeys(id: OrganizationId): Promise<number> {
    const some = await atMost(keys.find({ organizationId: id }, { projection: { _id: 1 } }), STEP);
    if (some.length === 0) return 0;
    const keyIds = some.map(({ _id }) => _id);
    const note = { $addToSet: { keyIds: { $each: keyIds } }, $setOnInsert: { endedAt: null } };
    if (!(await ifAbsent(() => removals.updateOne({ _id: id }, note, { upsert: true })))) await removals.updateOne({ _id: id }, note);
    await rings.deleteMany({ _id: { $in: keyIds } });
    await keys.deleteMany({ _id: { $in: keyIds } });
    return keyIds.length;
  }

  /** One step of everything that is the organization's but its record. */
  const removeSome = async (id: OrganizationId): Promise<number> =>
    (await removal.empty(STEP)) ||
    (await removal.discard({ organizationId: id }, STEP)) ||
    (await deleteSome(events, { organizationId: id }, STEP)) ||
    (await deleteSome(idempotency, { _id: idsOf(id) }, STEP)) ||
    (await deleteSome(sites, { organizationId: id }, STEP)) ||
    (await deleteSome(usage, { _id: idsOf(id) }, STEP)) ||
    removeKeys(id);

  async function removeRecord({ _id, id }: OrganizationDocument): Promise<number> {
    const ended = { $setOnInsert: { keyIds: [] }, $currentDate: { endedAt: true } } as const;
    await ifAbsent(() => removals.updateOne({ _id: id }, ended, { upsert: true }));
    await organizations.deleteOne({ _id, id });
    return 1;
  }

  async function step(organization: OrganizationDocument | null): Promise<number> {
    return organization === null ? 0 : (await removeSome(organization.id)) || removeRecord(organization);
  }

  return {
    port: {
      beginOrganizationRemoval: (id) =>
        untilWon(async () => {
          const mark = { $currentDate: { removedAt: true } } as const;
          const found =
            (await organizations.findOneAndUpdate({ id, ...LIVING }, mark, { returnDocument: 'after' })) ??
            (await organizations.findOne({ id }));
          if (found === null) return null;
          // Another one has marked it, and a majority does not have that yet.
          if (found.removedAt === undefined) return undefined;
          const held = { organizationId: id, state: 'running', ...HELD } as Filter<CrawlDocument>;
          await crawls.updateMany(held, { $set: { 'lease.token': null } });
          return removalOf(found);
        }),
      continueOrganizationRemoval: async (id) => step(await organizations.findOne({ id, ...REMOVED })),
    },
    continueFirst: async () => step(await organizations.findOne(REMOVED)),
    async removeLate(before) {
      const ended = await removals.findOne({ endedAt: { $lte: new Date(before) } });
      if (ended === null) return 0;
      const { _id, keyIds } = ended;
      // One that was copied in again meanwhile is not gone.
      if ((await organizations.findOne({ id: _id }, { projection: { _id: 1 } })) === null) {
        const removed = await removeSome(_id);
        if (removed > 0) return removed;
        await rings.deleteMany({ _id: { $in: [...keyIds] } });
      }
      await removals.deleteOne({ _id });
      return 1;
    },
  };
}
