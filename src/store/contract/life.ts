import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { CrawlId, KeyId, LeaseToken, OrganizationId } from '#domain/ids.ts';
import { CANCELLED_ERROR } from '#domain/lease.ts';
import type { DiscoveredPage, PageResult } from '#domain/page.ts';
import { type Snapshot, urlsQueued } from '#domain/snapshot.ts';
import type { Claim, CreateCrawlOutcome, Store } from '#store/store.ts';
import { COMPLETED, finding } from './analysis.ts';
import { batchOf, discovered, expectCountersOf, fetched, thisMonth, wholeFrontier, without } from './pages.ts';
import { answered, LEASE_MS, newCrawl, newCrawlId, newKey, newToken, relayAll } from './world.ts';

/** What clients and workers know between two tries: which of their calls were answered, and the newest snapshot of each crawl. */
export type Life = {
  readonly organizationId: OrganizationId;
  readonly keyId: KeyId;
  readonly second: CrawlId;
  readonly third: CrawlId;
  /** Calls by name that need no repeating. */
  readonly calls: Map<string, unknown>;
  readonly seen: Map<CrawlId, Snapshot>;
};

export const newLife = (): Life => ({
  organizationId: randomUUID() as OrganizationId,
  keyId: randomUUID() as KeyId,
  second: newCrawlId(),
  third: newCrawlId(),
  calls: new Map(),
  seen: new Map(),
});

/** The site that is crawled: its URLs by name, with the names that each links to. */
const SITE: Readonly<Record<string, { readonly result: PageResult['status']; readonly links: readonly string[] }>> = {
  '': { result: 'fetched', links: ['a', 'b', 'c', 'private'] },
  a: { result: 'fetched', links: ['', 'd'] },
  b: { result: 'redirected', links: ['d'] },
  c: { result: 'failed', links: [] },
  d: { result: 'fetched', links: ['a', 'private'] },
};
const urlOf = (name: string): string => `https://example.com/${name}`;
const nameOf = (url: string): string => url.slice(urlOf('').length);

/** What the pages of the first crawl are in the end. */
export const EXPECTED_PAGES = { '': 'fetched', a: 'fetched', b: 'redirected', c: 'failed', d: 'fetched', private: 'blocked' };
/** Fetched pages of the first crawl and of the third. */
export const EXPECTED_CHARGES = { first: 3, third: 1 };

/** Checks a snapshot against the one that was seen before it: a change shows in the version, and nothing goes back. */
export function observe(life: Life, snapshot: Snapshot): Snapshot {
  const last = life.seen.get(snapshot.id);
  if (last !== undefined) {
    expect(snapshot.version).toBeGreaterThanOrEqual(last.version);
    if (snapshot.version === last.version) expect(snapshot).toEqual(last);
  }
  expect(urlsQueued(snapshot.counters)).toBeGreaterThanOrEqual(0);
  life.seen.set(snapshot.id, snapshot);
  return snapshot;
}

/** Fetches at most `most` batches of a claimed crawl from its stored frontier; answers whether nothing is left. */
async function fetchSome(store: Store, life: Life, { snapshot: { id }, token, ...claim }: Claim, most: number): Promise<boolean> {
  let { batch } = claim;
  const pages = new Map((await wholeFrontier(store, id, token)).map((page) => [nameOf(page.url), page]));
  const hold = { granted: 0, used: 0, ...claim.holds.find((each) => each.month === thisMonth()) };
  const pageOf = (name: string, foundOn: number | null): DiscoveredPage => {
    const blocked = name === 'private' ? ({ status: 'blocked', reason: 'Disallow: /private' } as const) : {};
    return discovered(pages.size, { url: urlOf(name), foundOn, redirects: name === 'd' ? 1 : 0, ...blocked });
  };
  const discover = (name: string, foundOn: number | null): DiscoveredPage => {
    const page = pageOf(name, foundOn);
    pages.set(name, page);
    return page;
  };
  const commit = async (changes: { discovered?: DiscoveredPage[]; results?: PageResult[] }) =>
    observe(life, answered(await store.commitPages(id, token, batchOf(++batch, changes))));

  for (let batches = 0; batches < most; batches++) {
    if (pages.size === 0) await commit({ discovered: [discover('', null)] });
    const next = [...pages.values()].find((page) => page.status === 'queued');
    if (next === undefined) return true;
    const { result, links } = SITE[nameOf(next.url)] ?? { result: 'failed', links: [] };
    if (hold.used === hold.granted) {
      const grant = answered(await store.grantQuota(id, token, thisMonth(), 2));
      if (grant.kind !== 'granted') throw new Error(grant.kind);
      hold.granted = grant.granted;
    }
    const found = links.filter((name) => !pages.has(name)).map((name) => discover(name, next.seq));
    if (found.length > 2) await commit({ discovered: found.splice(0, 2) });
    const outcome = result === 'fetched' ? fetched(next.seq) : without(next.seq, result);
    await commit({ discovered: found, results: [outcome] });
    if (result === 'fetched') hold.used++;
    pages.set(nameOf(next.url), { ...next, status: result });
  }
  return ![...pages.values()].some((page) => page.status === 'queued');
}

const evidenceOf = (token: LeaseToken) => ({ run: token });

/** A worker's run: a few batches and a release, or the rest and the end. */
async function run(store: Store, life: Life, claim: Claim): Promise<void> {
  const { snapshot, token } = claim;
  const { id } = observe(life, snapshot);
  expectCountersOf(snapshot, await wholeFrontier(store, id, token));
  if (id === life.third) {
    if (snapshot.counters.fetched === 0) await fetchSome(store, life, claim, 1);
    const asked = await once(life, 'cancel third', () => store.cancelCrawl(life.organizationId, id));
    if (asked !== 'final') observe(life, answered(asked as Snapshot));
    expect(await store.heartbeat(id, token, LEASE_MS)).toMatchObject({ cancelRequested: true });
    observe(life, answered(await store.finish(id, token, { endReason: 'cancelled', error: CANCELLED_ERROR }, null)));
    return;
  }
  if (claim.ending === null) {
    if (!(await fetchSome(store, life, claim, 2))) return store.release(id, token);
    observe(life, answered(await store.beginAnalysis(id, token, COMPLETED)));
  }
  await store.addFindings(id, token, [finding(0, { evidence: evidenceOf(token) }), finding(1, { evidence: evidenceOf(token) })]);
  await store.addFindings(id, token, [finding(2, { evidence: evidenceOf(token) })]);
  observe(life, answered(await store.finish(id, token, COMPLETED, 3)));
}

/** Makes a call unless it was answered before. */
async function once<T>(life: Life, name: string, call: () => Promise<T>): Promise<unknown> {
  if (!life.calls.has(name)) life.calls.set(name, await call());
  return life.calls.get(name);
}

function started(life: Life, outcome: CreateCrawlOutcome): CrawlId {
  if (outcome.kind !== 'created' && outcome.kind !== 'replayed') throw new Error(outcome.kind);
  return observe(life, outcome.snapshot).id;
}

/**
 * Everything that happens to three crawls: one is fetched by several workers, analysed and done; one is cancelled before a worker
 * comes; one is cancelled under its worker and deleted. Called again on the same data, it goes on as clients and workers would.
 * Answers the id of the first.
 */
export async function live(store: Store, life: Life): Promise<CrawlId> {
  const { organizationId, keyId, second, third } = life;
  const start = async (changes: Parameters<typeof newCrawl>[1]) => started(life, await store.createCrawl(newCrawl(life, changes)));
  await once(life, 'defaults', () =>
    store.ensureDefaults({ id: organizationId, name: 'default', monthlyUrlQuota: 100 }, { ...newKey(organizationId), id: keyId }),
  );
  const first = await once(life, 'first', () => start({ idempotency: { key: 'k', requestHash: 'h' } }));
  await once(life, 'second', () => start({ id: second }));
  await once(life, 'cancel second', () => store.cancelCrawl(organizationId, second));
  await once(life, 'third', () => start({ id: third }));
  for (;;) {
    const claim = await store.claim(newToken(), LEASE_MS);
    if (claim === null) break;
    await run(store, life, claim);
    await store.relayEvents(1);
  }
  await once(life, 'delete third', () => store.deleteCrawl(organizationId, third));
  await relayAll(store);
  return first as CrawlId;
}
