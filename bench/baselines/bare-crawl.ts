// The bare crawl: undici, htmlparser2 and nothing else, in one thread. It collects the facts and links that crawlgate stores and
// follows the same links, but it keeps them in memory only until the page is done, stores nothing, and knows no robots.txt, guard,
// retry, rate, depth barrier, lease or quota.
// usage: node bench/baselines/bare-crawl.ts URL MAX_URLS MAX_DEPTH CONCURRENCY   (prints one line of JSON)
import { readFile } from 'node:fs/promises';
import { Parser } from 'htmlparser2';
import { Pool } from 'undici';

export type BareCrawlResult = {
  readonly fetched: number;
  readonly failed: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly bytes: number;
  readonly links: number;
  readonly idleKiB: number;
  readonly peakKiB: number;
};

type Queued = { readonly url: URL; readonly seq: number; readonly depth: number };
type Facts = {
  title: string;
  description: string | null;
  lang: string | null;
  canonical: string | null;
  h1Count: number;
  imagesWithoutAlt: number;
  textLength: number;
  noindex: boolean;
  nofollow: boolean;
};
type Parsed = { readonly facts: Facts; readonly links: readonly number[]; readonly otherLinks: readonly string[] };

const memory = async (field: string): Promise<number> =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(await readFile('/proc/self/status', 'utf8'))?.[1]);

const [address = ''] = process.argv.slice(2);
const [maxUrls = 500, maxDepth = 3, concurrency = 16] = process.argv.slice(3).map(Number);
const start = new URL(address);
const pool = new Pool(start.origin, { connections: concurrency });
const seqOf = new Map<string, number>();
const queue: Queued[] = [];
let head = 0;
let inFlight = 0;
let fetched = 0;
let failed = 0;
let bytes = 0;
let links = 0;

function discover(url: URL, depth: number): number {
  const known = seqOf.get(url.href);
  if (known !== undefined) return known;
  const seq = seqOf.size;
  seqOf.set(url.href, seq);
  queue.push({ url, seq, depth });
  return seq;
}

/** One pass over the HTML. */
function parse(html: string, page: Queued): Parsed {
  const facts: Facts = {
    title: '',
    description: null,
    lang: null,
    canonical: null,
    h1Count: 0,
    imagesWithoutAlt: 0,
    textLength: 0,
    noindex: false,
    nofollow: false,
  };
  const found = new Set<number>();
  const others = new Set<string>();
  const seen = new Set<string>();
  let title: string | null = null;
  let silent = 0;
  const link = (href: string): void => {
    const hash = href.indexOf('#');
    const reference = hash < 0 ? href : href.slice(0, hash);
    if (seen.has(reference)) return;
    seen.add(reference);
    const target = URL.parse(reference, page.url.href);
    if (target === null || (target.protocol !== 'http:' && target.protocol !== 'https:')) return;
    const known = seqOf.get(target.href);
    if (known !== undefined) found.add(known);
    else if (target.host === start.host && page.depth < maxDepth && !facts.nofollow) found.add(discover(target, page.depth + 1));
    else others.add(target.href);
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      switch (name) {
        case 'a':
        case 'area':
          if (attributes.href !== undefined && !(attributes.rel ?? '').includes('nofollow')) link(attributes.href);
          break;
        case 'title':
          title ??= '';
          break;
        case 'h1':
          facts.h1Count++;
          break;
        case 'img':
          if (attributes.alt === undefined) facts.imagesWithoutAlt++;
          break;
        case 'html':
          facts.lang = attributes.lang ?? null;
          break;
        case 'link':
          if (attributes.rel === 'canonical') facts.canonical = URL.parse(attributes.href ?? '', page.url.href)?.href ?? null;
          break;
        case 'meta':
          if (attributes.name === 'description') facts.description = attributes.content ?? null;
          if (attributes.name === 'robots') {
            facts.noindex = (attributes.content ?? '').includes('noindex');
            facts.nofollow = (attributes.content ?? '').includes('nofollow');
          }
          break;
        case 'script':
        case 'style':
          silent++;
          break;
      }
    },
    ontext(text) {
      if (silent === 0) facts.textLength += text.length;
      if (title !== null && facts.title === '') title += text;
    },
    onclosetag(name) {
      if (name === 'script' || name === 'style') silent--;
      if (name === 'title' && facts.title === '') facts.title = (title ?? '').replace(/\s+/g, ' ').trim();
    },
  });
  parser.end(html);
  return { facts, links: [...found], otherLinks: [...others] };
}

async function visit(page: Queued): Promise<void> {
  const { headers, body } = await pool.request({ path: page.url.pathname + page.url.search, method: 'GET' });
  if (!String(headers['content-type']).includes('html')) {
    await body.dump();
    fetched++;
    return;
  }
  const html = await body.text();
  const parsed = parse(html, page);
  bytes += html.length;
  links += parsed.links.length + parsed.otherLinks.length;
  fetched++;
}

/** Keeps `concurrency` requests under way; resolves when nothing is left. */
function crawl(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const next = (): void => {
    while (inFlight < concurrency && head < queue.length && fetched + inFlight < maxUrls) {
      const page = queue[head++];
      if (page === undefined) break;
      inFlight++;
      visit(page)
        .catch(() => {
          failed++;
        })
        .finally(() => {
          inFlight--;
          next();
        });
    }
    if (inFlight === 0) resolve();
  };
  next();
  return promise;
}

const idleKiB = await memory('VmRSS');
const cpuBefore = process.cpuUsage();
const began = performance.now();
discover(start, 0);
await crawl();
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
const result: BareCrawlResult = {
  fetched,
  failed,
  seconds,
  cpuSeconds: (user + system) / 1e6,
  bytes,
  links,
  idleKiB,
  peakKiB: await memory('VmHWM'),
};
console.log(JSON.stringify(result));
await pool.close();
