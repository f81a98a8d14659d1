import { expect, test } from 'vitest';
import { readScraped } from '#metrics/fixtures/scraped.ts';
import { METRICS, type Metric } from '#metrics/table.ts';
import { page, startSite } from './fixtures/site.ts';
import { apiOf, isFinal, keyOf, runCli, startServer, tempDataDir } from './server-process.ts';

/** What only Redis has, or only Linux. */
const ELSEWHERE = /^crawlgate_(bus|request_limit)_|^process_open_fds$/;

test('a process tells of all its threads and of the crawl that it ran, and names nobody', { timeout: 120_000 }, async () => {
  using data = tempDataDir();
  const site = await startSite({
    '/': page('Home', ['/a', '/b', '/private']),
    '/a': page('A'),
    '/b': page('B'),
    '/robots.txt': 'User-agent: *\nDisallow: /private',
  });
  await using server = await startServer(data.path);
  try {
    const api = apiOf(server.url, keyOf(data.path));
    const { stdout } = await runCli(['keys', 'create', '--name', 'prometheus', '--scopes', 'metrics', '--json'], { DATA_DIR: data.path });
    const key: { id: string; organizationId: string; secret: string } = JSON.parse(stdout);
    const scrape = async () => (await apiOf(server.url, key.secret).fetch('/metrics')).text();
    expect((await apiOf(server.url, key.secret).fetch('/v1/crawls')).status).toBe(403);

    const id = await api.start({ url: `${site.origin}/` });
    const { urlsCrawled } = await api.until(id, isFinal);
    let text = await scrape();
    // the worker's thread counts a moment after the store has the end
    while (readScraped(text).value('crawlgate_crawls_running') !== 0) text = await scrape();
    const scraped = readScraped(text);

    expect(scraped.valuesOf('crawlgate_thread_up', 'thread')).toEqual(['crawler', 'main', 'store']);
    expect(scraped.value('crawlgate_thread_up')).toBe(3);
    for (const thread of ['crawler', 'main', 'store']) expect(scraped.value('nodejs_heap_size_used_bytes', { thread })).toBeGreaterThan(0);
    expect(scraped.value('crawlgate_starts_total', { outcome: 'accepted' })).toBe(1);
    expect(scraped.value('crawlgate_crawls_claimed_total', { phase: 'queued' })).toBe(1);
    expect(scraped.value('crawlgate_crawls_ended_total', { state: 'done', reason: 'completed' })).toBe(1);
    expect(scraped.value('crawlgate_pages_total', { status: 'fetched' })).toBe(urlsCrawled);
    expect(scraped.value('crawlgate_pages_blocked_total', { reason: 'robots' })).toBe(1);
    expect([scraped.value('crawlgate_crawls_running'), scraped.value('crawlgate_crawls_capacity')]).toEqual([0, 4]);
    expect(scraped.value('crawlgate_store_operation_duration_seconds', { method: 'commitPages', outcome: 'ok' })).toBeGreaterThan(0);

    expect([scraped.value('crawlgate_queue_crawls'), scraped.value('crawlgate_queue_oldest_seconds')]).toEqual([0, 0]);
    for (const { name, kind, help, samples } of scraped.families) {
      const row: Metric = METRICS[name as keyof typeof METRICS];
      expect({ name, kind, help }).toEqual({ name, kind: row.kind, help: row.help });
      const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
      for (const label of labels) expect(['thread', 'le', ...row.labels]).toContain(label);
    }
    const told = new Set(scraped.families.map(({ name }) => name));
    expect(Object.keys(METRICS).filter((name) => !told.has(name) && !ELSEWHERE.test(name))).toEqual([]);
    for (const secret of [id, key.id, key.organizationId, key.secret, keyOf(data.path), '127.0.0.1', data.path])
      expect(text).not.toContain(secret);
  } finally {
    await site.close();
  }
});
