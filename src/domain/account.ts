import type { EpochMs, KeyId, OrganizationId } from './ids.ts';

/** `metrics` is issued by the operator only. */
export const SCOPES = ['crawls:read', 'crawls:write', 'webhooks:write', 'metrics'] as const;
export type Scope = (typeof SCOPES)[number];

/** The tenant. */
export type Organization = {
  readonly id: OrganizationId;
  /** Unique; 1 to 64 of a-z, 0-9, `-`. */
  readonly name: string;
  /** Pages a calendar month (UTC). */
  readonly monthlyUrlQuota: number;
  readonly createdAt: EpochMs;
};

/** A bearer secret, of which only the SHA-256 is stored. */
export type ApiKey = {
  readonly id: KeyId;
  readonly organizationId: OrganizationId;
  readonly name: string;
  /** The first characters of the secret, to tell keys apart by. */
  readonly prefix: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: EpochMs;
  readonly revokedAt: EpochMs | null;
};

/** Who makes a call. */
export type Caller = {
  readonly organizationId: OrganizationId;
  readonly keyId: KeyId;
  readonly scopes: readonly Scope[];
  /** The SHA-256 of the secret that was shown, in lower-case hex: whether it still holds is found by it. Never leaves the process. */
  readonly secretHash: string;
};
