import type { CrawlId, KeyId, OrganizationId } from '#domain/ids.ts';
import type { Copies } from '../copy-store.ts';
import { keyOf, organizationOf } from './account-reads.ts';
import { type CopyTables, insertAbsent, plainReads } from './copy-table.ts';
import { LIGHT } from './crawl-records.ts';
import type { CrawlSteps } from './crawl-steps.ts';
import { atMost, type Database } from './database.ts';
import type { OrganizationDocument, RingDocument, UsageDocument } from './documents.ts';
import type { EventRelay } from './event-relay.ts';
import { usageId } from './quota-writes.ts';

/** The character after the one that ends the organization's part of an `_id`: what lies below it is the organization's. */
const PAST_COLON = ';';

/** Ids that begin with the organization's and a colon, beyond that of `after`. */
export const idsOf = (organizationId: OrganizationId, after = '') => ({
  $gt: `${organizationId}:${after}`,
  $lt: `${organizationId}${PAST_COLON}`,
});

const ringOf = ({ _id, next, slots }: RingDocument): Copies['startRing'] => ({
  keyId: _id,
  next,
  slots: slots.map(({ at }) => at.getTime()),
});

export function createAccountCopies(
  database: Database,
  steps: CrawlSteps,
  relay: EventRelay,
): CopyTables<'organization' | 'usage' | 'startRing' | 'key'> {
  const { organizations, keys, rings, usage, crawls } = database;

  const copyOf = async (organization: OrganizationDocument): Promise<Copies['organization']> => ({
    ...organizationOf(organization),
    lastEventSeq: (await relay.lastSeq(organization.id)) ?? 0,
  });
  const findOrganization = async ({ organizationId }: { readonly organizationId: OrganizationId }): Promise<Copies['organization'][]> => {
    const found = await organizations.findOne({ id: organizationId });
    return found === null ? [] : [await copyOf(found)];
  };

  /** What is charged in all is what settled crawls were charged, and what those with open holds know. */
  const usageOf = async ({ _id, used, holds }: UsageDocument): Promise<Copies['usage']> => {
    const month = _id.slice(_id.indexOf(':') + 1);
    const ids = (Object.keys(holds) as CrawlId[]).sort();
    const found = await crawls.find({ _id: { $in: ids } }, { projection: { charged: 1 } }).toArray();
    const charged = new Map(found.map((crawl) => [crawl._id, crawl.charged[month] ?? 0]));
    const copied = ids.map((crawlId) => ({
      crawlId,
      granted: holds[crawlId]?.granted ?? 0,
      used: charged.get(crawlId) ?? holds[crawlId]?.used ?? 0,
    }));
    return { month, used: copied.reduce((sum, hold) => sum + hold.used, used), holds: copied };
  };
  const documentOf = (organization: OrganizationDocument, { month, used, holds }: Copies['usage']): UsageDocument => {
    const settled = holds.reduce((sum, hold) => sum - hold.used, used);
    const granted = holds.reduce((sum, hold) => sum + hold.granted, 0);
    const { id, monthlyUrlQuota: limit, quotaVersion: limitVersion } = organization;
    return {
      _id: usageId(id, month),
      limit,
      limitVersion,
      used: settled,
      free: limit - settled - granted,
      holds: Object.fromEntries(holds.map((hold) => [hold.crawlId, { granted: hold.granted, used: hold.used }])),
      closings: 0,
    };
  };

  const keyIds = async (organizationId: OrganizationId): Promise<KeyId[]> =>
    (await keys.find({ organizationId }, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);

  return {
    organization: {
      read: async (owner, after) => (after === null ? findOrganization(owner) : []),
      find: (owner) => findOrganization(owner),
      async insert(_, records) {
        // The name is `_id`; the id is looked at here, for no index keeps it unique.
        const known = await organizations.find({ id: { $in: records.map(({ id }) => id) } }, { projection: { id: 1 } }).toArray();
        const fresh = records.filter((record) => known.every(({ id }) => id !== record.id));
        const documents = fresh.map(({ id, name, monthlyUrlQuota, createdAt, lastEventSeq }) => ({
          _id: name,
          id,
          monthlyUrlQuota,
          quotaVersion: 1,
          createdAt: new Date(createdAt),
          sweptSeq: lastEventSeq,
        }));
        return insertAbsent(organizations, documents);
      },
      count: (id) => organizations.countDocuments({ id }),
    },
    usage: {
      async read({ organizationId }, after, limit) {
        for (const crawl of await crawls.find({ unsettled: true, organizationId }, { projection: LIGHT }).toArray())
          await steps.settle(crawl);
        const found = await atMost(usage.find({ _id: idsOf(organizationId, after?.month) }).sort({ _id: 1 }), limit);
        return Promise.all(found.map(usageOf));
      },
      async find({ organizationId }, records) {
        const ids = records.map(({ month }) => usageId(organizationId, month));
        return Promise.all((await usage.find({ _id: { $in: ids } }).toArray()).map(usageOf));
      },
      async insert({ organizationId }, records) {
        const organization = await organizations.findOne({ id: organizationId });
        if (organization === null) throw new RangeError(`There is no organization ${organizationId}.`);
        return insertAbsent(
          usage,
          records.map((record) => documentOf(organization, record)),
        );
      },
      count: (organizationId) => usage.countDocuments({ _id: idsOf(organizationId) }),
    },
    startRing: {
      async read({ organizationId }, after, limit) {
        const ids = (await keyIds(organizationId)).filter((id) => after === null || id > after.keyId);
        return (await atMost(rings.find({ _id: { $in: ids } }).sort({ _id: 1 }), limit)).map(ringOf);
      },
      find: async (_, records) => (await rings.find({ _id: { $in: records.map(({ keyId }) => keyId) } }).toArray()).map(ringOf),
      insert: (_, records) =>
        insertAbsent(
          rings,
          records.map(({ keyId, next, slots }) => ({ _id: keyId, next, slots: slots.map((at) => ({ at: new Date(at), crawl: null })) })),
        ),
      count: async (organizationId) => rings.countDocuments({ _id: { $in: await keyIds(organizationId) } }),
    },
    key: {
      ...plainReads({
        kind: 'key',
        collection: keys,
        ownedBy: ({ organizationId }) => ({ organizationId }),
        field: '_id',
        of: (key) => ({ ...keyOf(key), secretHash: key.secretHash }),
      }),
      async insert(_, records) {
        const taken = await keys.find({ secretHash: { $in: records.map(({ secretHash }) => secretHash) } }).toArray();
        const hashes = new Set(taken.map(({ secretHash }) => secretHash));
        const documents = records
          .filter(({ secretHash }) => !hashes.has(secretHash))
          .map(({ id, scopes, createdAt, revokedAt, ...key }) => ({
            ...key,
            _id: id,
            scopes: [...scopes],
            createdAt: new Date(createdAt),
            revokedAt: revokedAt === null ? null : new Date(revokedAt),
          }));
        return insertAbsent(keys, documents);
      },
      count: (organizationId) => keys.countDocuments({ organizationId }),
    },
  };
}
