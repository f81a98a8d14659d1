/** What a page asks of crawlers, by meta elements or by the header `X-Robots-Tag`. */
export type Directives = { readonly noindex: boolean; readonly nofollow: boolean };

export const NO_DIRECTIVES: Directives = { noindex: false, nofollow: false };

/** The product token whose own directives are heeded beside those for everybody. */
export const OWN_NAME = 'crawlgate';

/** The content of a robots meta element: words between commas or spaces. */
export function readDirectives(content: string): Directives {
  const words = content.toLowerCase().split(/[\s,]+/);
  const none = words.includes('none');
  return { noindex: none || words.includes('noindex'), nofollow: none || words.includes('nofollow') };
}

/** Whether what stands before a colon names a crawler: it is no directive that takes a value, and no part of a date. */
const isCrawler = (name: string): boolean =>
  name === '*' || (/[a-z]/.test(name) && !/\s/.test(name) && name !== 'unavailable_after' && !name.startsWith('max-'));

/**
 * The values of `X-Robots-Tag`, one for each time that the header was sent. A value is a list; what follows `<crawler>:` in it is for that
 * crawler alone, up to the next such name. No RFC has it; it is read as search engines document it. Takes time in proportion to the
 * values, which are as long as headers may be.
 */
export function readRobotsTags(values: readonly string[]): Directives {
  let { noindex, nofollow } = NO_DIRECTIVES;
  for (const value of values) {
    let isForUs = true;
    for (const item of value.toLowerCase().split(',')) {
      const colon = item.indexOf(':');
      const name = item.slice(0, Math.max(0, colon)).trim();
      const isNamed = isCrawler(name);
      if (isNamed) isForUs = name === '*' || name === OWN_NAME;
      if (!isForUs) continue;
      const asked = readDirectives(isNamed ? item.slice(colon + 1) : item);
      noindex ||= asked.noindex;
      nofollow ||= asked.nofollow;
    }
  }
  return { noindex, nofollow };
}
