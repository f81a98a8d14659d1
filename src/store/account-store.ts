import type { ApiKey, Organization, Scope } from '#domain/account.ts';
import type { EpochMs, KeyId, OrganizationId } from '#domain/ids.ts';

export type NewOrganization = { readonly id: OrganizationId; readonly name: string; readonly monthlyUrlQuota: number };

export type NewApiKey = {
  readonly id: KeyId;
  readonly organizationId: OrganizationId;
  readonly name: string;
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretHash: string;
  readonly prefix: string;
  readonly scopes: readonly Scope[];
};

export type KeySecret = Pick<NewApiKey, 'secretHash' | 'prefix'>;

/** An organization that is being removed. */
export type OrganizationRemoval = { readonly id: OrganizationId; readonly name: string; readonly removedAt: EpochMs };

/** Organizations and API keys. */
export type AccountStore = {
  /**
   * Creates the organization and the key where absent; the first insert of each wins. Answers whether this call created the key:
   * only then its secret is the one that is stored.
   */
  ensureDefaults(organization: NewOrganization, key: NewApiKey): Promise<{ keyCreated: boolean }>;
  /** 'taken' when another organization has that name, also one that is being removed; repeated with the same id it answers the organization. */
  createOrganization(organization: NewOrganization): Promise<Organization | 'taken'>;
  /** By name. */
  listOrganizations(): Promise<Organization[]>;
  findOrganization(idOrName: string): Promise<Organization | null>;
  /**
   * Sets the monthly limit, from the current month on. Lowering it below what is used or reserved takes nothing back; it only
   * stops new grants. Null when there is no such organization.
   */
  setMonthlyUrlQuota(id: OrganizationId, monthlyUrlQuota: number): Promise<Organization | null>;
  /**
   * Begins the removal of an organization with everything that is its; the commit point, which nothing takes back. From then on it is not
   * found, its keys are refused, nothing of it is started, granted or claimed, and the workers that run its crawls have lost them; its name
   * stays taken until the last step. Repeated it answers the same time. Null when there is no such organization.
   */
  beginOrganizationRemoval(id: OrganizationId): Promise<OrganizationRemoval | null>;
  /** Those that have begun and have not come to their end, by name. */
  listOrganizationRemovals(): Promise<OrganizationRemoval[]>;
  /**
   * One small step of a removal that has begun, of 500 records at most; whoever calls goes on where others stopped, also while they go on.
   * Answers how many records it removed; 0 when nothing is left, or no removal has begun. The last step frees the name. What a
   * writer brings in that was paused since before the removal is looked for a day later, by `sweep`.
   */
  continueOrganizationRemoval(id: OrganizationId): Promise<number>;
  /** Repeated with the same id it answers the key as it is stored. Throws a `RangeError` when its organization does not exist. */
  createKey(key: NewApiKey): Promise<ApiKey>;
  /** Oldest first, revoked ones included. */
  listKeys(organizationId: OrganizationId): Promise<ApiKey[]>;
  /** Revoked ones included. */
  findKey(id: KeyId): Promise<ApiKey | null>;
  /** The key with that secret, unless it is revoked. */
  findKeyBySecret(secretHash: string): Promise<ApiKey | null>;
  /** Replaces the secret; the old one is refused from now on. Null when there is no such key or it is revoked. */
  rotateKey(id: KeyId, secret: KeySecret): Promise<ApiKey | null>;
  /** Null when there is no such key; a key that was revoked before keeps its first `revokedAt`. */
  revokeKey(id: KeyId): Promise<ApiKey | null>;
};
