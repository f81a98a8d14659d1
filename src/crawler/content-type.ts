const VALID = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;
/** What servers say that do not know (MIME Sniffing Standard, §7). */
const UNKNOWN = new Set(['*/*', 'unknown/unknown', 'application/unknown']);

const essenceOf = (type: string): string => type.split(';', 1)[0]?.trim().toLowerCase() ?? '';

/**
 * The type that a response says it has, of all values that came as Content-Type; null when none of them names one. The last valid
 * one counts, with the parameters of one before it if it has none and is the same (Fetch Standard, §3.5).
 */
export function contentTypeOf(values: readonly string[]): string | null {
  let chosen: string | null = null;
  for (const value of values)
    for (const type of value.split(',')) {
      const essence = essenceOf(type);
      if (!VALID.test(type) || UNKNOWN.has(essence)) continue;
      if (chosen === null || type.includes(';') || essence !== essenceOf(chosen)) chosen = type.trim();
    }
  return chosen;
}
