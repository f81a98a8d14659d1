import type { EpochMs, OrganizationId } from '#domain/ids.ts';
import { COPY_KEYS, type Copies, type CopyKind, type CopyOwner } from '../copy-store.ts';
import { type CopyTable, createCopyTables } from './copy-tables.ts';
import type { Sql } from './sql.ts';

export type CopyReads = {
  readCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, after: Copies[Kind] | null, limit: number): Copies[Kind][];
  findCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): Copies[Kind][];
  countCopies(kind: CopyKind, organizationId: OrganizationId): number;
  countLiveLeases(): number;
};

export function createCopyReads(sql: Sql, now: () => EpochMs): CopyReads {
  const tables = createCopyTables(sql);
  const countOf = (text: string, value: string | number): number => sql.get<{ count: number }>(text, value)?.count ?? 0;
  return {
    readCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, after: Copies[Kind] | null, limit: number) {
      const { columns, source, ownerOf, order, placeOf, of }: CopyTable<Kind> = tables[kind];
      const place = placeOf(after);
      const text = `select ${columns} ${source} and (${order}) > (${place.map(() => '?')}) order by ${order} limit ?`;
      return sql.all(text, ...ownerOf(owner), ...place, limit).map(of);
    },
    findCopies<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]) {
      const { columns, source, found, ownerOf, key, of }: CopyTable<Kind> = tables[kind];
      const keys = JSON.stringify(records.map(COPY_KEYS[kind]));
      const rows =
        found === undefined
          ? sql.all(`select ${columns} ${source} and ${key} in (select value from json_each(?))`, ...ownerOf(owner), keys)
          : sql.all(`select ${columns} ${found}`, keys);
      return rows.map(of);
    },
    countCopies: (kind, organizationId) => countOf(`select count(*) as count ${tables[kind].counted}`, organizationId),
    countLiveLeases: () =>
      countOf(
        `select count(*) as count from crawls indexed by crawls_lease_end where lease_token is not null and lease_expires_at > ?`,
        now(),
      ),
  };
}
