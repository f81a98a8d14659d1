import { isDeepStrictEqual } from 'node:util';
import { COPY_KEYS, type Copies, type CopyKind, type CopyOwner } from '#store/copy-store.ts';
import type { Store } from '#store/store.ts';

/** The migration cannot go on as it was asked for. One line; nothing in the target was overwritten. */
export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

export type Stores = { readonly from: Store; readonly to: Store };

export type CopyRecords = {
  /** Copies every record of the kind; calls `told` after each step with the number of its records. */
  copyAll<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, told: (records: number) => void, signal: AbortSignal): Promise<void>;
  /** Stores the records; those that are there must be the same. Throws `MigrationRefused`. */
  store<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): Promise<void>;
  /** Writes nothing; throws `MigrationRefused` when the target has other content under the key of a record of the source. */
  refuseDifferent<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>): Promise<void>;
  /** Those of the records that the target has, by key. Throws `MigrationRefused` when one has other content there. */
  findSame<Kind extends CopyKind>(
    kind: Kind,
    owner: CopyOwner<Kind>,
    records: readonly Copies[Kind][],
  ): Promise<ReadonlySet<string | number>>;
};

/** Of pages, which may have a megabyte of links each, fewer are in memory at once. */
const PAGES_AT_ONCE = 50;
const RECORDS_AT_ONCE = 500;

const NAMES: Partial<Record<CopyKind, string>> = {
  key: 'API key',
  startRing: 'start limit of the API key',
  idempotency: 'idempotency key',
};
const nameOf = (kind: CopyKind): string => NAMES[kind] ?? kind;

/** What differs, by the names of the fields; the values may be secrets. */
function differencesOf(source: object, target: object): string {
  const [left, right] = [new Map(Object.entries(source)), new Map(Object.entries(target))];
  return [...new Set([...left.keys(), ...right.keys()])].filter((name) => !isDeepStrictEqual(left.get(name), right.get(name))).join(', ');
}

export function createCopyRecords({ from, to }: Stores): CopyRecords {
  async function* stepsOf<Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>): AsyncGenerator<Copies[Kind][]> {
    const limit = kind === 'page' ? PAGES_AT_ONCE : RECORDS_AT_ONCE;
    for (let after: Copies[Kind] | null = null; ; ) {
      const records: Copies[Kind][] = await from.readCopies(kind, owner, after, limit);
      if (records.length === 0) return;
      yield records;
      after = records.at(-1) ?? null;
    }
  }

  const findSame: CopyRecords['findSame'] = async (kind, owner, records) => {
    const keyOf = COPY_KEYS[kind];
    const found = new Map((await to.findCopies(kind, owner, records)).map((record) => [keyOf(record), record]));
    for (const record of records) {
      const key = keyOf(record);
      const there = found.get(key);
      if (there === undefined || isDeepStrictEqual(there, record)) continue;
      throw new MigrationRefused(
        `the target has the ${nameOf(kind)} ${key} with other content (${differencesOf(record, there)}): nothing is overwritten; use an empty store, one that no server has been started on`,
      );
    }
    return new Set(found.keys());
  };

  const store: CopyRecords['store'] = async (kind, owner, records) => {
    if ((await to.insertCopies(kind, owner, records)) === records.length) return;
    const keyOf = COPY_KEYS[kind];
    const same = await findSame(kind, owner, records);
    const refused = records.find((record) => !same.has(keyOf(record)));
    if (refused !== undefined)
      throw new MigrationRefused(
        `the target cannot take the ${nameOf(kind)} ${keyOf(refused)}: its name, secret or URL belongs to another one there`,
      );
  };

  return {
    findSame,
    store,
    async copyAll(kind, owner, told, signal) {
      for await (const records of stepsOf(kind, owner)) {
        signal.throwIfAborted();
        await store(kind, owner, records);
        told(records.length);
      }
    },
    async refuseDifferent(kind, owner) {
      for await (const records of stepsOf(kind, owner)) await findSame(kind, owner, records);
    },
  };
}
