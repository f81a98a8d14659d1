import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { seeded } from './fixtures/seeded.ts';
import { startTreeSite } from './fixtures/tree-site.ts';
import { apiOf, isFinal, keyOf, startServer, tempDataDir } from './server-process.ts';

const KILLS = 10;
const PAGES = 1_500;
/** Long, so that the kills are over before the crawls; then short. */
const [ANSWER_MS, LAST_ANSWER_MS] = [250, 20];

type Tallies = { id: string; fetched: number; stored: number; seqs: number; urls: number; held: number };

/** What the database holds of each crawl, read with nobody else on it: its own counter beside what is stored and charged. */
function tallies(dataDir: string): { crawls: Tallies[]; used: number; reserved: number } {
  const db = new DatabaseSync(`${dataDir}/crawlgate.db`);
  try {
    const crawls = db
      .prepare(
        `select c.id, c.fetched, count(p.seq) filter (where p.status = 'fetched') as stored, count(p.seq) as seqs,
           count(distinct p.url) as urls, (select coalesce(sum(h.used), 0) from holds h where h.crawl = c.n) as held
         from crawls c left join pages p on p.crawl = c.n group by c.n order by c.n`,
      )
      .all() as Tallies[];
    const usage = db.prepare('select coalesce(sum(used), 0) as used, coalesce(sum(reserved), 0) as reserved from usage').get();
    return { crawls, ...(usage as { used: number; reserved: number }) };
  } finally {
    db.close();
  }
}

describe('kill -9 during crawls', async () => {
  const site = await startTreeSite(PAGES, ANSWER_MS);
  afterAll(() => site.close());

  it('ten times over, loses no page and stores and charges none twice', { timeout: 300_000 }, async () => {
    using dataDir = tempDataDir();
    const random = seeded(20_261_121);
    const environment = { CRAWL_CONCURRENCY: '8', READ_LIMIT_PER_MINUTE: '0' };
    const ids: string[] = [];
    let key = '';
    for (let kill = 0; kill < KILLS; kill++) {
      await using server = await startServer(dataDir.path, environment);
      key = keyOf(dataDir.path);
      const api = apiOf(server.url, key);
      if (kill === 0) for (const maxUrls of [PAGES + 1, 700]) ids.push(await api.start({ url: site.origin, maxUrls, maxDepth: 50 }));
      const before = await Promise.all(ids.map(api.detail));
      await Promise.all(before.map(({ id, urlsCrawled }) => api.until(id, (now) => now.urlsCrawled > urlsCrawled || isFinal(now))));
      await delay(random() * 300);
      expect((await api.detail(ids[0] ?? '')).state).toBe('running');
      server.kill('SIGKILL');
      expect((await server.ended).signal).toBe('SIGKILL');

      const { crawls, used } = tallies(dataDir.path);
      for (const { fetched, stored, seqs, urls, held } of crawls) {
        expect({ stored, urls, held }).toEqual({ stored: fetched, urls: seqs, held: fetched });
      }
      expect(used).toBe(crawls.reduce((sum, { fetched }) => sum + fetched, 0));
    }

    site.takes(LAST_ANSWER_MS);
    await using server = await startServer(dataDir.path, environment);
    const api = apiOf(server.url, key);
    const ended = await Promise.all(ids.map((id) => api.until(id, isFinal)));
    expect(ended.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(ended.map(({ urlsCrawled }) => urlsCrawled)).toEqual([PAGES, 700]);
    for (const { id, urlsCrawled } of ended) {
      const pages = await api.pages(id);
      expect(pages.filter(({ status }) => status === 'fetched')).toHaveLength(urlsCrawled);
      expect(new Set(pages.map(({ url }) => url)).size).toBe(pages.length);
    }
    expect(await api.usage()).toMatchObject({ used: PAGES + 700, reserved: 0 });
    server.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    const { crawls, used, reserved } = tallies(dataDir.path);
    expect(crawls.map(({ fetched, stored, held }) => [fetched, stored, held])).toEqual([
      [PAGES, PAGES, PAGES],
      [700, 700, 700],
    ]);
    expect({ used, reserved }).toEqual({ used: PAGES + 700, reserved: 0 });
  });
});
