import type { OrganizationId } from '#domain/ids.ts';

/** The key of an idempotency record; an organization id has a fixed length, so that no two pairs share one. */
export const idempotencyIdOf = (organizationId: OrganizationId, key: string): string => `${organizationId}:${key}`;
