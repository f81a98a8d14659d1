import { type Collection, type Filter, MongoBulkWriteError, type OptionalUnlessRequiredId, type WithId } from 'mongodb';
import type { OrganizationId } from '#domain/ids.ts';
import { COPY_KEYS, type Copies, type CopyKind, type CopyOwner } from '../copy-store.ts';
import { atMost } from './database.ts';
import { isDuplicate } from './retry.ts';

/** The four methods of the port for one kind. */
export type CopyTable<Kind extends CopyKind> = {
  read(owner: CopyOwner<Kind>, after: Copies[Kind] | null, limit: number): Promise<Copies[Kind][]>;
  find(owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): Promise<Copies[Kind][]>;
  insert(owner: CopyOwner<Kind>, records: readonly Copies[Kind][]): Promise<number>;
  count(organizationId: OrganizationId): Promise<number>;
};

export type CopyTables<Kinds extends CopyKind = CopyKind> = { readonly [Kind in Kinds]: CopyTable<Kind> };

/** Inserts, as one command, the documents that are absent; answers how many. */
export async function insertAbsent<T extends object>(
  collection: Collection<T>,
  documents: readonly OptionalUnlessRequiredId<T>[],
): Promise<number> {
  if (documents.length === 0) return 0;
  try {
    return (await collection.insertMany(documents, { ordered: false })).insertedCount;
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const refused = [error.writeErrors].flat();
    const onlyTaken = isDuplicate(error) && refused.every(({ code }) => code === error.code) && !error.result.getWriteConcernError();
    if (!onlyTaken) throw error;
    return documents.length - refused.length;
  }
}

type Plain<Kind extends CopyKind, T extends object> = {
  readonly kind: Kind;
  readonly collection: Collection<T>;
  readonly ownedBy: (owner: CopyOwner<Kind>) => Filter<T>;
  /** The field that the key is in; the index that serves the owner ends in it. */
  readonly field: string;
  readonly of: (document: WithId<T>) => Copies[Kind];
};

/** Reading of records that are a document each. */
export const plainReads = <Kind extends CopyKind, T extends object>({
  kind,
  collection,
  ownedBy,
  field,
  of,
}: Plain<Kind, T>): Pick<CopyTable<Kind>, 'read' | 'find'> => ({
  async read(owner, after, limit) {
    const place = after === null ? {} : { [field]: { $gt: COPY_KEYS[kind](after) } };
    const found = await atMost(collection.find({ ...ownedBy(owner), ...place }).sort({ [field]: 1 }), limit);
    return found.map(of);
  },
  async find(owner, records) {
    const named = { ...ownedBy(owner), [field]: { $in: records.map(COPY_KEYS[kind]) } };
    return (await collection.find(named).toArray()).map(of);
  },
});
