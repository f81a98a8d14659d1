/** The middle value; of an even number of values the mean of the two in the middle. Throws a `RangeError` when there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  if (upper === undefined || lower === undefined) throw new RangeError('there is no median of nothing');
  return (upper + lower) / 2;
}

/** Runs the contenders in turn, `rounds` times, each round beginning with another one: what disturbs the machine meets all of them. */
export async function interleave<Name extends string, Result>(
  rounds: number,
  contenders: Readonly<Record<Name, () => Promise<Result>>>,
): Promise<Record<Name, Result[]>> {
  const names = Object.keys(contenders) as Name[];
  const results = {} as Record<Name, Result[]>;
  for (const name of names) results[name] = [];
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length] as Name;
      results[name].push(await contenders[name]());
    }
  }
  return results;
}
