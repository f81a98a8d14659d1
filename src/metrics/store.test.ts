import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { NOFOLLOW_REASON } from '#crawler/reasons.ts';
import { unavailable } from '#domain/errors.ts';
import type { CrawlId, KeyId, LeaseToken, OrganizationId } from '#domain/ids.ts';
import { newKey } from '#store/contract/world.ts';
import { sqliteHarness } from '#store/sqlite/fixtures/harness.ts';
import type { Store } from '#store/store.ts';
import { countCancels, countCrawls } from './crawls.ts';
import { readScraped, type Scraped } from './fixtures/scraped.ts';
import { createMeter } from './meter.ts';
import { createScrape } from './scrape.ts';
import { measureStore } from './store.ts';

type World = {
  readonly store: Store;
  readonly start: () => Promise<CrawlId>;
  readonly read: () => Promise<Scraped>;
  readonly organizationId: OrganizationId;
};

async function withStore(use: (world: World) => Promise<void>): Promise<void> {
  const opened = await sqliteHarness.open();
  const meter = createMeter('crawler');
  const cancels = createMeter('main');
  const scrape = createScrape({ meter });
  const store = measureStore(opened.store, meter, { ...countCrawls(meter), ...countCancels(cancels) });
  const organizationId = randomUUID() as string as OrganizationId;
  const keyId = randomUUID() as string as KeyId;
  try {
    await store.createOrganization({ id: organizationId, name: 'measured', monthlyUrlQuota: 100 });
    await store.createKey({ id: keyId, organizationId, name: 'key', secretHash: 'hash', prefix: 'cg_', scopes: [] });
    await use({
      store,
      organizationId,
      read: async () => readScraped((await scrape()).text),
      async start() {
        const id = randomUUID() as string as CrawlId;
        const site = { url: 'http://secret.example/', host: 'secret.example', authority: 'secret.example' };
        await store.createCrawl({ id, organizationId, keyId, ...site, maxUrls: 10, maxDepth: 1, idempotency: null });
        return id;
      },
    });
  } finally {
    await opened.close();
  }
}

const newToken = (): LeaseToken => randomUUID() as string as LeaseToken;
const OPERATIONS = 'crawlgate_store_operation_duration_seconds';

test('calls are told by method and outcome', () =>
  withStore(async ({ store, start, read }) => {
    const id = await start();
    await store.heartbeat(id, newToken(), 1_000);
    await expect(store.createKey(newKey(randomUUID() as string as OrganizationId))).rejects.toThrow(RangeError);
    await store.close();
    await expect(store.now()).rejects.toThrow(unavailable('The store is closed.').message);
    const scraped = await read();
    const count = (method: string, outcome: string) => scraped.value(OPERATIONS, { method, outcome });
    expect(count('createCrawl', 'ok')).toBe(1);
    expect(count('heartbeat', 'lost')).toBe(1);
    expect(count('createKey', 'error')).toBe(1);
    expect(count('now', 'unavailable')).toBe(1);
    expect(scraped.valuesOf(OPERATIONS, 'method')).not.toContain('close');
  }));

test('a crawl is told from its claim to its end, with its pages', () =>
  withStore(async ({ store, start, read }) => {
    const id = await start();
    const token = newToken();
    await store.claim(token, 60_000);
    const base = { depth: 0, foundOn: null, redirects: 0 };
    const blocked = (seq: number, reason: string) =>
      ({ ...base, seq, url: `http://secret.example/${seq}`, status: 'blocked', reason }) as const;
    await store.commitPages(id, token, {
      number: 1,
      discovered: [
        { ...base, seq: 0, url: 'http://secret.example/', status: 'queued', reason: null },
        blocked(1, 'Disallow: /1'),
        blocked(2, 'secret.example does not resolve to a public address.'),
        blocked(3, NOFOLLOW_REASON),
      ],
      results: [],
      charges: {},
      frontierTruncated: false,
    });
    await store.finish(id, token, { endReason: 'seed_unreachable', error: 'No answer from secret.example.' }, null);
    const scraped = await read();
    expect(scraped.value('crawlgate_crawls_claimed_total', { phase: 'queued' })).toBe(1);
    expect(scraped.value('crawlgate_crawl_wait_seconds')).toBe(1);
    expect(scraped.value('crawlgate_pages_total', { status: 'blocked' })).toBe(3);
    for (const reason of ['robots', 'address_guard', 'nofollow'])
      expect(scraped.value('crawlgate_pages_blocked_total', { reason })).toBe(1);
    expect(scraped.value('crawlgate_crawls_ended_total', { state: 'failed', reason: 'seed_unreachable' })).toBe(1);
    expect(scraped.value('crawlgate_crawl_duration_seconds', { state: 'failed' })).toBe(1);
  }));

test('a batch that another worker has overtaken counts no page', () =>
  withStore(async ({ store, start, read }) => {
    const id = await start();
    await store.claim(newToken(), 60_000);
    const page = { seq: 0, url: 'http://secret.example/', depth: 0, foundOn: null, redirects: 0, status: 'blocked', reason: 'x' } as const;
    const batch = { number: 1, discovered: [page], results: [], charges: {}, frontierTruncated: false };
    expect(await store.commitPages(id, newToken(), batch)).toBe('lost');
    expect((await read()).value('crawlgate_pages_total', { status: 'blocked' })).toBe(0);
  }));

test('nothing of a crawl or its organization is in the text', () =>
  withStore(async ({ store, start, organizationId }) => {
    const id = await start();
    const meter = createMeter('main');
    const measured = measureStore(store, meter, countCancels(meter));
    await measured.cancelCrawl(organizationId, id);
    const { text } = await createScrape({ meter })();
    expect(readScraped(text).value('crawlgate_crawls_ended_total', { state: 'failed', reason: 'cancelled' })).toBe(1);
    for (const secret of [id, organizationId, 'secret.example']) expect(text).not.toContain(secret);
  }));
