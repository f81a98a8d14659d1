import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { MAX_BATCH_BYTES } from '#domain/batch.ts';
import { createLinkFollower } from './follow-links.ts';
import { createFrontier, type Entry } from './frontier.ts';
import { parseHtml } from './parse-html.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** A follower on a site of its own. */
function open({ maxQueued = 1_000, check = () => ({ allowed: true }) as const } = {}) {
  const frontier = createFrontier({ maxUrls: 1_000, maxQueued, stored: [], now: Date.now });
  return createLinkFollower({
    frontier,
    batcher: { discovered: () => {}, truncated: () => {} },
    scope: new Set(['site.example']),
    maxDepth: 10,
    maxUnfollowed: 1_000,
    robotsOf: () => ({ check, crawlDelay: 0 }),
  });
}
const entryOf = ({ href: url }: URL, seq = 0): Entry => {
  return { seq, url, depth: 0, redirects: 0, attempt: 1, retryAt: 0, ticket: null, fallback: null };
};

describe('following links', () => {
  it.each([
    ['of letters', 'x'],
    ['of what JSON escapes', '\\'],
  ])('keeps as many of 5,000 long ones %s as one batch can hold, and tells that there were more', async (_, character) => {
    const url = new URL('https://site.example/');
    const references = Array.from({ length: 5_000 }, (_, index) => `https://other.example/?${index}${character.repeat(2_000)}`);
    const page = await parseHtml(references.map((href) => `<a href="${href}">x</a>`).join(''), url);
    const { otherLinks, linksTruncated } = await open().follow(entryOf(url), url, page);
    expect(linksTruncated).toBe(true);
    expect(otherLinks.length).toBeGreaterThan(100);
    expect(Buffer.byteLength(JSON.stringify(otherLinks))).toBeLessThan(MAX_BATCH_BYTES - 100_000);
  });

  it('does not hold up the thread with a robots.txt that takes long, and asks it of no URL that is dropped anyway', async () => {
    let asked = 0;
    const check = () => {
      asked++;
      const until = performance.now() + 5;
      while (performance.now() < until);
      return { allowed: true } as const;
    };
    const url = new URL('https://site.example/');
    const page = await parseHtml(Array.from({ length: 5_000 }, (_, index) => `<a href="/${index}">x</a>`).join(''), url);
    let turns = 0;
    const turn = (): void => {
      turns++;
      others = setImmediate(turn);
    };
    let others = setImmediate(turn);
    await open({ maxQueued: 100, check }).follow(entryOf(url), url, page);
    clearImmediate(others);
    expect(asked).toBe(100);
    expect(turns).toBeGreaterThan(15);
  });

  // A hundred thousand of them were remembered, however long: a few such sites at once were the end of the crawler thread.
  it('remembers long references within bounds', async () => {
    const follower = open();
    const visit = async (index: number): Promise<void> => {
      const url = new URL(`https://site.example/${index}`);
      const links = Array.from({ length: 2_000 }, (_, at) => `<a href="//other.example/${index}-${at}${'x'.repeat(1_950)}">x</a>`);
      await follower.follow(entryOf(url, index), url, await parseHtml(links.join(''), url));
    };
    await visit(0);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 1; index <= 20; index++) await visit(index);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(30_000_000);
  });

  // The references that are remembered over pages were cut out of the pages, and kept each page's whole HTML in memory: a crawl of
  // 529 pages held 88 MB that nobody used.
  it('keeps no page in memory', async () => {
    const follower = open();
    const visit = async (index: number): Promise<number> => {
      const url = new URL(`https://site.example/${index}`);
      // Decoded from bytes, as a body is: one flat megabyte.
      const html = Buffer.from(`<a href="page-found-on-number-${index}.html">x</a>${'<p>text</p>'.repeat(90_000)}`).toString();
      return (await follower.follow(entryOf(url, index), url, await parseHtml(html, url))).links.length;
    };
    await visit(0);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 1; index <= 40; index++) expect(await visit(index)).toBe(1);
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
  });
});
