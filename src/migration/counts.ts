import type { Organization } from '#domain/account.ts';
import { COPY_KINDS, type CopyKind } from '#store/copy-store.ts';
import type { Store } from '#store/store.ts';

export type Totals = Readonly<Record<CopyKind, number>>;

/** Told while records are copied; each call is cheap. */
export type Progress = {
  /** An organization of this name is not copied, for it is being removed. */
  leaveOut(name: string): void;
  /** Before the first record: how many the source has of each kind. */
  begin(totals: Totals): void;
  /** So many more records of the kind are in the target, copied now or found there. */
  add(kind: CopyKind, records: number): void;
};

/** Both counts of a kind, over all organizations that were copied. */
export type KindCount = {
  readonly kind: CopyKind;
  readonly source: number;
  readonly target: number;
  /** The names of the organizations of which they differ: sums may be equal by chance. */
  readonly different: readonly string[];
};

export async function countAll(store: Store, organizations: readonly Organization[]): Promise<Totals> {
  const totals = Object.fromEntries(COPY_KINDS.map((kind) => [kind, 0])) as Record<CopyKind, number>;
  for (const { id } of organizations) for (const kind of COPY_KINDS) totals[kind] += await store.countCopies(kind, id);
  return totals;
}

export async function compareCounts(from: Store, to: Store, organizations: readonly Organization[]): Promise<KindCount[]> {
  const counts: KindCount[] = [];
  for (const kind of COPY_KINDS) {
    let [source, target] = [0, 0];
    const different: string[] = [];
    for (const { id, name } of organizations) {
      const [here, there] = await Promise.all([from.countCopies(kind, id), to.countCopies(kind, id)]);
      source += here;
      target += there;
      if (here !== there) different.push(name);
    }
    counts.push({ kind, source, target, different });
  }
  return counts;
}
