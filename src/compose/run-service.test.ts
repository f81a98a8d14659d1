import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { readConfig } from '#config/config.ts';
import { urlOf } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import { page, startSite } from '../../test/fixtures/site.ts';
import { runService } from './run-service.ts';

const KEY = 'a-key-of-24-characters-or-more';

/** Ends the crawler thread by force during a crawl whose lease would outlast the test, and answers how many threads there were. */
async function killCrawlerThread(urls: Record<string, string>): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'crawlgate-service-'));
  const threads: Worker[] = [];
  const onThread = (thread: Worker) => threads.push(thread);
  process.on('worker', onThread);
  const links = Array.from({ length: 60 }, (_, index) => `/${index}`);
  let killAt = 20;
  const site = await startSite({
    '/': page('Home', links),
    ...Object.fromEntries(
      links.map((link) => [
        link,
        (_, response) => {
          if (--killAt === 0) void threads.at(-1)?.terminate();
          setTimeout(() => response.end(page(link)), 50);
        },
      ]),
    ),
  });
  const config = readConfig({
    ...urls,
    ...{ PORT: '0', DATA_DIR: folder, CRAWLGATE_API_KEY: KEY, CRAWL_ALLOW_NETWORKS: '127.0.0.0/8' },
    ...{ LEASE_SECONDS: '3600', READ_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'silent' },
  });
  const never = new AbortController().signal;
  const service = await runService({ config, role: 'all', isTerminal: false, stopped: never, cut: never });
  try {
    const call = async (path: string, init: RequestInit = {}) => {
      const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
      return (await (await fetch(`${service.url}${path}`, { ...init, headers })).json()) as Record<string, unknown>;
    };
    const started = await call('/v1/crawls', { method: 'POST', body: JSON.stringify({ url: site.origin }) });
    let crawl = await call(String(started.url));
    for (; crawl.state === 'running'; crawl = await call(String(started.url))) await delay(50);
    expect(crawl).toMatchObject({ state: 'done', urlsCrawled: 61 });
    let usage = await call('/v1/usage');
    for (; usage.reserved !== 0; usage = await call('/v1/usage')) await delay(50); // given back after the end
    expect(usage).toMatchObject({ used: 61 });
    return threads.length;
  } finally {
    await service.stop();
    process.off('worker', onThread);
    await site.close();
    await rm(folder, { recursive: true, force: true });
  }
}

// The crawls of the dead thread stood still until their leases had expired.
test('a crawler thread that dies is replaced, and its crawl goes on at once', async () => {
  expect(await killCrawlerThread({})).toBe(3); // the store's and two crawlers
});

withServer('on MongoDB', (url, admin) => {
  test('a crawler thread that dies is replaced, and its crawl goes on at once, though nobody expires the leases of others', async () => {
    const name = `crawlgate-${randomUUID()}`;
    try {
      expect(await killCrawlerThread({ STORE_URL: urlOf(url, name), BUS_URL: 'redis://127.0.0.1:1' })).toBe(2);
    } finally {
      await admin.db(name).dropDatabase();
    }
  });
});
