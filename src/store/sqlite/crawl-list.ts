import type { SQLInputValue } from 'node:sqlite';
import type { CrawlId, OrganizationId } from '#domain/ids.ts';
import type { CrawlFilter, CrawlStore } from '../crawl-store.ts';
import { SNAPSHOT, type SnapshotRow, snapshotOf } from './crawl-rows.ts';
import type { Sql, Sync } from './sql.ts';

export type CrawlLists = Sync<CrawlStore, 'listCrawls' | 'countCrawls' | 'getQueuePositions'>;

/**
 * Lists by keyset. Each filter has an index that ends in (started_at, id) and is named, so that a page costs the same wherever it
 * lies; of host and site together the site's is used.
 */
export function createCrawlLists(sql: Sql): CrawlLists {
  return {
    listCrawls({ organizationId, after, before, limit, ...filter }) {
      const { from, values } = matching(organizationId, filter);
      let text = `select ${SNAPSHOT} ${from}`;
      for (const [sign, position] of [['<', after] as const, ['>', before] as const]) {
        if (position === undefined) continue;
        text += ` and (started_at, id) ${sign} (?, ?)`;
        values.push(position.startedAt, position.id);
      }
      const order = before === undefined ? 'desc' : 'asc';
      const rows = sql.all<SnapshotRow>(`${text} order by started_at ${order}, id ${order} limit ?`, ...values, limit);
      return (before === undefined ? rows : rows.reverse()).map(snapshotOf);
    },
    getQueuePositions(organizationId, ids) {
      const rows = sql.all<{ id: CrawlId; position: number }>(
        `select id, position from (
           select id, row_number() over (order by started_at, id) as position from crawls indexed by crawls_claimable
           where organization_id = ? and state = 'running' and lease_token is null
         ) where id in (select value from json_each(?))`,
        organizationId,
        JSON.stringify(ids),
      );
      return new Map(rows.map(({ id, position }) => [id, position]));
    },
    countCrawls(organizationId, filter, most) {
      const { from, values } = matching(organizationId, filter);
      return sql.get<{ count: number }>(`select count(*) as count from (select 1 ${from} limit ?)`, ...values, most)?.count ?? 0;
    },
  };
}

function matching(organizationId: OrganizationId, { siteId, state, host }: CrawlFilter): { from: string; values: SQLInputValue[] } {
  const place = siteId !== undefined ? 'site' : host !== undefined ? 'host' : '';
  const index = `crawls_${place === '' ? (state === undefined ? 'listed' : 'by_state') : `by_${place}${state === undefined ? '' : '_state'}`}`;
  let from = `from crawls indexed by ${index} where organization_id = ?`;
  const values: SQLInputValue[] = [organizationId];
  for (const [column, value] of [['site_id', siteId] as const, ['host', host] as const, ['state', state] as const]) {
    if (value === undefined) continue;
    from += ` and ${column} = ?`;
    values.push(value);
  }
  return { from, values };
}
