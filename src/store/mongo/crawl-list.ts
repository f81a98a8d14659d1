import type { Filter } from 'mongodb';
import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import type { CrawlFilter, CrawlPosition, CrawlStore } from '../crawl-store.ts';
import { LIGHT, snapshotOf } from './crawl-records.ts';
import { atMost, type Database } from './database.ts';
import type { CrawlDocument } from './documents.ts';

export type CrawlLists = Pick<CrawlStore, 'listCrawls' | 'countCrawls' | 'getQueuePositions'>;

/** Lists by keyset; each filter has an index that ends in (startedAt, _id), so that a page costs the same wherever it lies. */
export function createCrawlLists({ crawls }: Database): CrawlLists {
  return {
    async listCrawls({ organizationId, after, before, limit, ...filter }) {
      const places = [...(after === undefined ? [] : [beyond('$lt', after)]), ...(before === undefined ? [] : [beyond('$gt', before)])];
      const order = before === undefined ? -1 : 1;
      const found = await atMost(
        crawls
          .find({ ...matching(organizationId, filter), ...(places.length > 0 && { $and: places }) }, { projection: LIGHT })
          .sort({ startedAt: order, _id: order }),
        limit,
      );
      return (before === undefined ? found : found.reverse()).map(snapshotOf);
    },
    async getQueuePositions(organizationId, ids) {
      const waiting = crawls
        .find({ state: 'running', organizationId, 'lease.token': null }, { projection: { _id: 1 } })
        .sort({ startedAt: 1, _id: 1 });
      const wanted = new Set(ids);
      const positions = new Map<CrawlId, number>();
      let position = 0;
      for await (const { _id } of waiting) {
        position++;
        if (wanted.has(_id)) positions.set(_id, position);
        if (positions.size === wanted.size) break;
      }
      return positions;
    },
    countCrawls: (organizationId, filter, most) => crawls.countDocuments(matching(organizationId, filter), { limit: most }),
  };
}

/** The bound on startedAt alone is what the index is entered by. */
export const beyond = (sign: '$lt' | '$gt', { startedAt, id }: CrawlPosition): Filter<CrawlDocument> => {
  const at = new Date(startedAt);
  return { startedAt: { [`${sign}e`]: at }, $or: [{ startedAt: { [sign]: at } }, { _id: { [sign]: id } }] };
};

const matching = (organizationId: OrganizationId, { siteId, state, host }: CrawlFilter): Filter<CrawlDocument> => ({
  organizationId,
  ...(siteId !== undefined && { siteId }),
  ...(state !== undefined && { state }),
  ...(host !== undefined && { host }),
});
