import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { CrawlId, KeyId, LeaseToken, OrganizationId } from '#domain/ids.ts';
import { monthOf } from '#domain/quota.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Claim, NewApiKey, NewCrawl, Store } from '#store/store.ts';
import type { OpenStore, StoreHarness } from './harness.ts';

export const LEASE_MS = 60_000;

/** An organization with keys enough that the limit of starts is met only by tests that mean it. */
export type Tenant = {
  readonly organizationId: OrganizationId;
  readonly keyId: KeyId;
  newKey(): Promise<KeyId>;
  /** Starts a crawl, under a key of its own unless `changes` names one. */
  start(changes?: Partial<NewCrawl>): Promise<Snapshot>;
};

/** An open store and the short ways to bring it into a state. */
export type World = OpenStore & {
  tenant(monthlyUrlQuota?: number): Promise<Tenant>;
  /** Starts a crawl of a new organization and claims it. */
  running(monthlyUrlQuota?: number): Promise<Run>;
  /** The same, with 100 pages of the current month granted. */
  fetching(): Promise<Run>;
};

export type Run = { readonly tenant: Tenant; readonly claim: Claim; readonly id: CrawlId; readonly token: LeaseToken };

export const newToken = (): LeaseToken => randomUUID() as LeaseToken;
export const newCrawlId = (): CrawlId => randomUUID() as CrawlId;

export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export const newKey = (organizationId: OrganizationId, secret: string = randomUUID()): NewApiKey => ({
  id: randomUUID() as KeyId,
  organizationId,
  name: 'a key',
  secretHash: hashOf(secret),
  prefix: secret.slice(0, 8),
  scopes: ['crawls:read', 'crawls:write'],
});

export const newCrawl = (tenant: Pick<Tenant, 'organizationId' | 'keyId'>, changes: Partial<NewCrawl> = {}): NewCrawl => ({
  id: newCrawlId(),
  organizationId: tenant.organizationId,
  keyId: tenant.keyId,
  url: 'https://example.com/',
  host: 'example.com',
  authority: 'example.com',
  maxUrls: 500,
  maxDepth: 3,
  idempotency: null,
  ...changes,
});

export async function createTenant(store: Store, monthlyUrlQuota = 100_000): Promise<Tenant> {
  const organizationId = randomUUID() as OrganizationId;
  await store.createOrganization({ id: organizationId, name: `org-${organizationId.slice(0, 8)}`, monthlyUrlQuota });
  const addKey = async () => (await store.createKey(newKey(organizationId))).id;
  const keyId = await addKey();
  return {
    organizationId,
    keyId,
    newKey: addKey,
    async start(changes = {}) {
      const outcome = await store.createCrawl(newCrawl({ organizationId, keyId: changes.keyId ?? (await addKey()) }, changes));
      if (outcome.kind !== 'created') throw new Error(`the crawl was not created: ${outcome.kind}`);
      return outcome.snapshot;
    },
  };
}

export async function claimNext(store: Store, leaseMs: number = LEASE_MS): Promise<Claim> {
  const claim = await store.claim(newToken(), leaseMs);
  if (claim === null) throw new Error('there was nothing to claim');
  return claim;
}

export function worldOf(opened: OpenStore): World {
  const { store } = opened;
  async function running(monthlyUrlQuota?: number): Promise<Run> {
    const tenant = await createTenant(store, monthlyUrlQuota);
    const { id } = await tenant.start();
    const claim = await claimNext(store);
    expect(claim.snapshot.id).toBe(id);
    return { tenant, claim, id, token: claim.token };
  }
  return {
    ...opened,
    tenant: (monthlyUrlQuota) => createTenant(store, monthlyUrlQuota),
    running,
    async fetching() {
      const run = await running();
      expect(await store.grantQuota(run.id, run.token, monthOf(await store.now()), 100)).toMatchObject({ kind: 'granted' });
      return run;
    },
  };
}

/** The body of a test that gets a store of its own, closed afterwards whatever happens. */
export const inWorld =
  (harness: StoreHarness, body: (world: World) => Promise<void>): (() => Promise<void>) =>
  async () => {
    const opened = await harness.open();
    try {
      await body(worldOf(opened));
    } finally {
      await opened.close();
    }
  };

/** What is not one of the words that a method answers instead of a value. */
export function answered<T>(value: T): Exclude<T, 'lost' | 'final' | 'taken' | 'not_final' | null | undefined> {
  if (value === null || value === undefined || typeof value === 'string') throw new Error(`answered ${String(value)}`);
  return value as Exclude<T, 'lost' | 'final' | 'taken' | 'not_final' | null | undefined>;
}

/** Resolves when the store's clock shows another millisecond, so that what follows is later than what was before. */
export async function nextMoment(store: Store): Promise<void> {
  const before = await store.now();
  while ((await store.now()) <= before) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Relays until nothing is left, and answers how many events it moved. */
export async function relayAll(store: Store): Promise<number> {
  let moved = 0;
  for (;;) {
    const step = await store.relayEvents(100);
    if (step === 0) return moved;
    moved += step;
  }
}
