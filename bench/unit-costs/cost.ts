/** A row: what, how much, and how that was found. */
export type Cost = { readonly of: string; readonly what: string; readonly value: string; readonly how: string };

/** Measures one part. `smoke`: tiny sizes. */
export type MeasureCosts = (smoke: boolean) => Promise<Cost[]>;

export function markdownOfCosts(costs: readonly Cost[]): string {
  const rows = costs.map(({ of, what, value, how }) => `| ${of} | ${what} | ${value} | ${how} |`);
  return `${['| of | what | measured | how |', '|---|---|---:|---|', ...rows].join('\n')}\n`;
}

export const bytes = (count: number): string => (count < 10_000 ? `${Math.round(count)} B` : `${(count / 1024).toFixed(1)} KiB`);
export const perUnit = (value: number): string => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));
