import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createLinkFollower } from './follow-links.ts';
import { createFrontier, type Entry } from './frontier.ts';
import { parseHtml } from './parse-html.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

describe('following links', () => {
  // The references that are remembered over pages were cut out of the pages, and kept each page's whole HTML in memory: a crawl of
  // 529 pages held 88 MB that nobody used.
  it('keeps no page in memory', async () => {
    const frontier = createFrontier({ maxUrls: 1_000, maxQueued: 1_000, stored: [], now: Date.now });
    const follower = createLinkFollower({
      frontier,
      batcher: { discovered: () => {}, truncated: () => {} },
      scope: new Set(['site.example']),
      maxDepth: 10,
      maxUnfollowed: 1_000,
      robotsOf: () => ({ check: () => ({ allowed: true }), crawlDelay: 0 }),
    });
    const visit = async (index: number): Promise<number> => {
      const url = new URL(`https://site.example/${index}`);
      const entry: Entry = { seq: index, url: url.href, depth: 0, redirects: 0, attempt: 1, retryAt: 0, ticket: null, fallback: null };
      // Decoded from bytes, as a body is: one flat megabyte.
      const html = Buffer.from(`<a href="page-found-on-number-${index}.html">x</a>${'<p>text</p>'.repeat(90_000)}`).toString();
      return (await follower.follow(entry, url, await parseHtml(html, url))).links.length;
    };
    await visit(0);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 1; index <= 40; index++) expect(await visit(index)).toBe(1);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  });
});
