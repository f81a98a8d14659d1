import { MAX_SAMPLES } from './rule.ts';

export type Tallied = { readonly count: number; readonly seqs: readonly number[] };

/** Pages by what they have in common: how many, and the first `MAX_SAMPLES` of them. In the order in which each key came first. */
export type Tally<Key> = {
  add(key: Key, seq: number): void;
  get(key: Key): Tallied | undefined;
  entries(): Iterable<readonly [Key, Tallied]>;
};

export function createTally<Key extends string | number>(): Tally<Key> {
  const tallied = new Map<Key, { count: number; readonly seqs: number[] }>();
  return {
    add(key, seq) {
      const one = tallied.get(key) ?? { count: 0, seqs: [] };
      if (one.count++ === 0) tallied.set(key, one);
      if (one.seqs.length < MAX_SAMPLES) one.seqs.push(seq);
    },
    get: (key) => tallied.get(key),
    entries: () => tallied.entries(),
  };
}
