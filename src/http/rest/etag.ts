/** The weak tag of a crawl's version: equal versions mean the same fields, not the same bytes. */
export const etagOf = (version: number): string => `W/"${version}"`;

const ENTITY_TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g;

/** Whether If-None-Match (RFC 9110 §13.1.2) names `etag`, by weak comparison; `*` names whatever exists. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  const opaque = etag.slice(2);
  return ifNoneMatch.match(ENTITY_TAG)?.some((tag) => (tag.startsWith('W/') ? tag.slice(2) : tag) === opaque) ?? false;
}
