import { expect } from 'vitest';
import type { CrawlId, KeyId, LeaseToken } from '#domain/ids.ts';
import { COPY_KEYS, COPY_KINDS, type Copies, type CopyKind, type CopyOwner } from '#store/copy-store.ts';
import type { Store } from '#store/store.ts';
import { COMPLETED, finding } from './analysis.ts';
import { batchOf, discovered, fetched, fetchPages, seqs, thisMonth, without } from './pages.ts';
import { answered, claimNext, createTenant, LEASE_MS, newCrawl, newKey, relayAll, type Tenant } from './world.ts';

/** An organization in which everything is that can be kept. */
export type Filled = {
  readonly tenant: Tenant;
  /** Done, with findings; started with the idempotency key `again` and the request hash `same`. */
  readonly done: CrawlId;
  readonly cancelled: CrawlId;
  /** 40 of 60 pages fetched, and held by `token`. */
  readonly running: CrawlId;
  readonly token: LeaseToken;
  readonly revokedKey: KeyId;
  /** The secret of a key that is good. */
  readonly secret: string;
  readonly pages: number;
};

const FETCHED = 40;

/** Fills the store with an organization; nothing in it may be claimable before. */
export async function fill(store: Store): Promise<Filled> {
  const tenant = await createTenant(store);
  const { organizationId } = tenant;
  const secret = `cg_${organizationId}`;
  const key = newKey(organizationId, secret);
  await store.createKey(key);
  const revokedKey = await tenant.newKey();
  await store.revokeKey(revokedKey);

  const idempotency = { key: 'again', requestHash: 'same' };
  const { id: done } = await tenant.start({
    idempotency,
    keyId: key.id,
    url: 'https://done.example/',
    host: 'done.example',
    authority: 'done.example',
  });
  const first = await claimNext(store, LEASE_MS);
  expect(first.snapshot.id).toBe(done);
  answered(await store.grantQuota(done, first.token, thisMonth(), 10));
  const links = { links: [1, 2, 3], otherLinks: ['https://elsewhere.example/'], bytes: 77, truncated: true, linksTruncated: true };
  const pages = [
    discovered(0, { url: 'https://done.example/' }),
    ...seqs(1, 3).map((seq) => discovered(seq, { redirects: seq === 3 ? 1 : 0 })),
  ];
  const batch = batchOf(1, {
    discovered: [...pages, discovered(4, { status: 'blocked', reason: 'Disallow: /page-4' })],
    results: [
      fetched(0, links),
      without(1, 'failed', { reason: 'Could not connect to done.example.' }),
      without(2, 'redirected', { httpStatus: 301, redirectUrl: 'https://example.com/page-3' }),
      fetched(3, { facts: null, contentType: 'application/pdf' }),
    ],
    frontierTruncated: true,
  });
  answered(await store.commitPages(done, first.token, batch));
  answered(await store.beginAnalysis(done, first.token, COMPLETED));
  await store.addFindings(done, first.token, [
    finding(0),
    finding(1, { pageSeq: null, url: null }),
    finding(2, { evidence: { at: ['a', 'b'], none: null } }),
  ]);
  answered(await store.finish(done, first.token, COMPLETED, 3));

  const { id: cancelled } = await tenant.start();
  await store.cancelCrawl(organizationId, cancelled);
  const { id: removed } = await tenant.start({ idempotency: { key: 'of a removed one', requestHash: 'h' } });
  await store.cancelCrawl(organizationId, removed);
  await store.deleteCrawl(organizationId, removed);

  const { id: running } = await tenant.start();
  const { token, ...claim } = await claimNext(store, LEASE_MS);
  expect(claim.snapshot.id).toBe(running);
  answered(await store.grantQuota(running, token, thisMonth(), 50));
  const range = seqs(0, 59);
  answered(await store.commitPages(running, token, batchOf(1, { discovered: range.map((seq) => discovered(seq)) })));
  const results = range.slice(0, FETCHED).map((seq) => fetched(seq));
  answered(await store.commitPages(running, token, batchOf(2, { results })));
  await relayAll(store);
  return { tenant, done, cancelled, running, token, revokedKey, secret, pages: 5 + range.length };
}

/** A request that the first crawl of `filled` was started by, repeated. */
export const repeated = ({ tenant }: Filled) => newCrawl(tenant, { idempotency: { key: 'again', requestHash: 'same' } });

/** Every record of one kind, read in steps of `limit`, by key. */
async function allOf<Kind extends CopyKind>(store: Store, kind: Kind, owner: CopyOwner<Kind>, limit: number): Promise<Copies[Kind][]> {
  const all: Copies[Kind][] = [];
  for (;;) {
    const step: Copies[Kind][] = await store.readCopies(kind, owner, all.at(-1) ?? null, limit);
    if (step.length === 0) break;
    expect(step.length).toBeLessThanOrEqual(limit);
    all.push(...step);
  }
  const keys = all.map(COPY_KEYS[kind]);
  expect(new Set(keys).size).toBe(keys.length);
  return all;
}

/** Everything of an organization that can be copied: by kind, pages and findings also by crawl. */
export async function everythingOf(store: Store, tenant: Pick<Tenant, 'organizationId'>, limit = 100): Promise<Record<string, unknown[]>> {
  const { organizationId } = tenant;
  const everything: Record<string, unknown[]> = {};
  const crawls = await allOf(store, 'crawl', { organizationId }, limit);
  for (const kind of COPY_KINDS) {
    if (kind !== 'page' && kind !== 'finding') everything[kind] = await allOf(store, kind, { organizationId }, limit);
    else for (const { id } of crawls) everything[`${kind} ${id}`] = await allOf(store, kind, { organizationId, crawlId: id }, limit);
  }
  return everything;
}

/** Copies an organization as the port asks for it, in its order; answers how many records were stored. */
export async function copyOver(from: Store, to: Store, { organizationId }: Pick<Tenant, 'organizationId'>): Promise<number> {
  let stored = 0;
  const crawls = await allOf(from, 'crawl', { organizationId }, 100);
  const copy = async <Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>): Promise<void> => {
    stored += await to.insertCopies(kind, owner, await allOf(from, kind, owner, 100));
  };
  for (const kind of COPY_KINDS) {
    if (kind !== 'page' && kind !== 'finding') await copy(kind, { organizationId });
    else for (const { id } of crawls) await copy(kind, { organizationId, crawlId: id });
  }
  return stored;
}

/** A tenant with so many crawls that have ended, each of so many pages. */
export async function tenantWithCrawls(
  store: Store,
  { crawls, pages }: { readonly crawls: number; readonly pages: number },
): Promise<Tenant> {
  const tenant = await createTenant(store);
  for (let crawl = 0; crawl < crawls; crawl++) {
    await tenant.start();
    const { snapshot, token } = await claimNext(store);
    await fetchPages(store, snapshot.id, token, pages);
    await store.finish(snapshot.id, token, { endReason: 'max_urls', error: null }, 0);
  }
  return tenant;
}
