import { v5 as uuidV5 } from 'uuid';

declare const brand: unique symbol;
type Id<Kind extends string> = string & { readonly [brand]: Kind };

/** All ids are lower-case UUIDs, so that a value from outside is either well formed or refused before it reaches a store. */
export type OrganizationId = Id<'organization'>;
export type KeyId = Id<'key'>;
export type SiteId = Id<'site'>;
export type CrawlId = Id<'crawl'>;
/** Names one grant of the right to run a crawl; a new one for each claim. */
export type LeaseToken = Id<'lease'>;

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

/** The organization and the key that exist after the first start; fixed, so that racing first starts create one of each. */
export const DEFAULT_ORGANIZATION_ID = '00000000-0000-4000-8000-000000000001' as OrganizationId;
export const DEFAULT_KEY_ID = '00000000-0000-4000-8000-000000000002' as KeyId;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` is a UUID of any version, in either case. */
export const isUuid = (text: string): boolean => UUID.test(text);

/** The id of an organization's site: derived (UUIDv5, RFC 9562 §5.5), so that concurrent first crawls of a site agree on it. */
export const siteIdOf = (organizationId: OrganizationId, authority: string): SiteId => uuidV5(authority, organizationId) as SiteId;
