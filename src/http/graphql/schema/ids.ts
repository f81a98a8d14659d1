import { Refusal } from '#domain/errors.ts';
import { type CrawlId, isUuid, type SiteId } from '#domain/ids.ts';

/** An id as a client wrote it; null for what is no id, which therefore names nothing. */
export const crawlIdOf = (text: string): CrawlId | null => (isUuid(text) ? (text.toLowerCase() as CrawlId) : null);
export const siteIdOf = (text: string): SiteId | null => (isUuid(text) ? (text.toLowerCase() as SiteId) : null);

/** An id that is filtered by. Throws `invalid_request`, as REST does. */
export function filterSiteId(text: string): SiteId {
  const id = siteIdOf(text);
  if (id === null) {
    throw new Refusal('invalid_request', 'filter.siteId is not an id.', {
      errors: [{ detail: 'must be a UUID', parameter: 'filter.siteId' }],
    });
  }
  return id;
}
