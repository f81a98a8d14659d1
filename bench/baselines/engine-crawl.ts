// crawlgate's crawler on its store, and nothing else: no REST, no worker, no bus, no analysis. Tells what of a crawl's time the engine
// takes and what the service around it.
// usage: node bench/baselines/engine-crawl.ts URL MAX_URLS MAX_DEPTH CONCURRENCY DATA_DIR   (prints one line of JSON)
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { createCrawler } from '#crawler/create-crawler.ts';
import { parseNetwork } from '#domain/address.ts';
import { type CrawlId, DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID, type LeaseToken } from '#domain/ids.ts';
import { storedSecretOf } from '#domain/key-secret.ts';
import { openSqliteStore } from '#store/sqlite/open.ts';
import { createLog } from '#telemetry.ts';
import { memoryOf } from '../lib/process.ts';
import type { BareCrawlResult } from './bare-crawl.ts';

/** What it prints. */
export type EngineCrawlResult = Pick<BareCrawlResult, 'fetched' | 'failed' | 'seconds' | 'cpuSeconds' | 'idleKiB' | 'peakKiB'>;

const [address = '', maxUrls, maxDepth, concurrency, dataDir = ''] = process.argv.slice(2);
const log = createLog('warn', process.stderr);
const threadEntry = new URL('../../src/compose/store-thread.ts', import.meta.url);
const { store } = await openSqliteStore({ path: join(dataDir, 'crawlgate.db'), threadEntry, log });
const organization = { id: DEFAULT_ORGANIZATION_ID, name: 'default', monthlyUrlQuota: 1_000_000 };
const key = { id: DEFAULT_KEY_ID, organizationId: organization.id, name: 'default', scopes: [], ...storedSecretOf('bench') };
await store.ensureDefaults(organization, key);
const crawler = createCrawler({
  store,
  publish: () => {},
  settings: {
    concurrency: Number(concurrency),
    ratePerHost: 10,
    allowNetworks: [parseNetwork('127.0.0.0/8')],
    userAgent: 'crawlgate/bench',
  },
  log,
  now: Date.now,
  random: Math.random,
});

const idle = await memoryOf(process.pid);
const cpuBefore = process.cpuUsage();
const began = performance.now();
const { href, hostname, host } = new URL(address);
await store.createCrawl({
  id: randomUUID() as CrawlId,
  organizationId: organization.id,
  keyId: key.id,
  url: href,
  host: hostname,
  authority: host,
  maxUrls: Number(maxUrls),
  maxDepth: Number(maxDepth),
  idempotency: null,
});
const claim = await store.claim(randomUUID() as LeaseToken, 60_000);
if (claim === null) throw new Error('there is nothing to claim');
const never = new AbortController().signal;
const ending = await crawler(claim, { signal: never, cancelled: never, leasesOnAuthority: () => 1 });
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
if (ending.error !== null) throw new Error(ending.error);
const snapshot = await store.getCrawl(organization.id, claim.snapshot.id);
const result: EngineCrawlResult = {
  fetched: snapshot?.counters.fetched ?? 0,
  failed: snapshot?.counters.failed ?? 0,
  seconds,
  cpuSeconds: (user + system) / 1e6,
  idleKiB: idle.residentKiB,
  peakKiB: (await memoryOf(process.pid)).peakKiB,
};
console.log(JSON.stringify(result));
await crawler.close();
await store.close();
