import { type DiscoveredPage, MAX_LINKS_PER_PAGE, type PageResult } from '#domain/page.ts';
import { pageUrl, targetOf } from '#domain/url.ts';
import type { Batcher } from './batcher.ts';
import type { Entry, Frontier } from './frontier.ts';
import type { ParsedPage } from './parse-html.ts';
import { NOFOLLOW_REASON } from './reasons.ts';
import type { Robots } from './robots.ts';

export type Outgoing = Pick<PageResult, 'links' | 'otherLinks' | 'linksTruncated'>;

export type LinkFollower = {
  /**
   * Makes a new page of the crawl of `url`, queued or blocked by its robots.txt; null when the frontier is full. Known URLs keep
   * the seq that they have.
   */
  readonly discover: (url: URL, from: Pick<DiscoveredPage, 'depth' | 'foundOn' | 'redirects'>) => Promise<number | null>;
  /** A page's links, the new ones among them discovered. */
  readonly follow: (entry: Entry, url: URL, parsed: ParsedPage) => Promise<Outgoing>;
  /** Makes blocked pages of the URLs that every link to them said not to follow. For the end of the crawl. */
  readonly discoverUnfollowed: () => void;
};

type Deps = {
  readonly frontier: Pick<Frontier, 'seqOf' | 'discover' | 'isFull'>;
  readonly batcher: Pick<Batcher, 'discovered' | 'truncated'>;
  /** The authorities whose URLs are pages of the crawl. */
  readonly scope: ReadonlySet<string>;
  readonly maxDepth: number;
  readonly maxUnfollowed: number;
  readonly robotsOf: (origin: string) => Robots | Promise<Robots>;
};

/** URLs outside the crawl that one page's result may hold, in characters, so that it always fits a batch. */
const MAX_OTHER_LENGTH = 400_000;
/** Characters of references that are remembered over pages; most links of a site are the same on each page of a directory. */
const MAX_REMEMBERED = 8_000_000;
/** What an entry takes beside its texts, in characters. */
const ENTRY_SIZE = 64;
/** Work goes on at most this long before others of the thread get their turn, in milliseconds. */
const SLICE_MS = 20;

/** The same text in memory of its own: what a parser cuts out of a page keeps that whole page alive for as long as it is kept. */
const ownText = (text: string): string => ` ${text}`.slice(1);

const yieldToOthers = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A reference that leads elsewhere from each page of a directory: all that stands before its query is white space, or the page's own scheme. */
const BY_PAGE = /^[\0- ]*(?:https?:)?(?:\?|$)/i;

/** What any other reference resolves against, and all that it depends on: the address up to its last slash. */
const directoryOf = (base: URL): string => base.origin + base.pathname.slice(0, base.pathname.lastIndexOf('/') + 1);

export function createLinkFollower({ frontier, batcher, scope, maxDepth, maxUnfollowed, robotsOf }: Deps): LinkFollower {
  /** By directory: reference → seq of the page, URL outside the crawl, or null when it leads to no page. */
  const remembered = new Map<string, Map<string, number | string | null>>();
  let rememberedSize = 0;
  const unfollowed = new Map<string, { readonly depth: number; readonly foundOn: number }>();

  function add(url: string, from: Pick<DiscoveredPage, 'depth' | 'foundOn' | 'redirects'>, reason: string | null): number | null {
    const known = frontier.seqOf(url);
    if (known !== undefined) return known;
    const { depth, foundOn, redirects } = from;
    const seq = frontier.discover({ url, depth, redirects, blocked: reason !== null });
    if (seq === null) batcher.truncated();
    else batcher.discovered({ seq, url, depth, foundOn, redirects, reason, status: reason === null ? 'queued' : 'blocked' });
    return seq;
  }

  async function discover(url: URL, from: Pick<DiscoveredPage, 'depth' | 'foundOn' | 'redirects'>): Promise<number | null> {
    // A robots.txt of many rules takes a while to ask: not for URLs that are dropped whatever it says.
    if (frontier.isFull() && frontier.seqOf(url.href) === undefined) {
      batcher.truncated();
      return null;
    }
    const known = robotsOf(url.origin);
    const robots = known instanceof Promise ? await known : known;
    const verdict = robots.check(targetOf(url));
    return add(url.href, from, verdict.allowed ? null : verdict.reason);
  }

  function memoryOf(base: URL): Map<string, number | string | null> {
    if (rememberedSize > MAX_REMEMBERED) {
      remembered.clear();
      rememberedSize = 0;
    }
    const directory = directoryOf(base);
    const known = remembered.get(directory);
    if (known !== undefined) return known;
    const fresh = new Map<string, number | string | null>();
    remembered.set(directory, fresh);
    return fresh;
  }

  async function follow(entry: Entry, url: URL, { references, base, facts, truncated }: ParsedPage): Promise<Outgoing> {
    const links = new Set<number>();
    const others = new Set<string>();
    let othersLength = 0;
    let linksTruncated = truncated;
    let began = performance.now();
    const memory = memoryOf(base);
    const keep = (target: number | string): void => {
      const isKnown = typeof target === 'number' ? links.has(target) : others.has(target);
      if (isKnown) return;
      if (links.size + others.size >= MAX_LINKS_PER_PAGE) linksTruncated = true;
      else if (typeof target === 'number') links.add(target);
      else if (othersLength + target.length > MAX_OTHER_LENGTH) linksTruncated = true;
      else {
        others.add(target);
        othersLength += target.length;
      }
    };

    for (const [reference, refused] of references) {
      if (performance.now() - began > SLICE_MS) {
        await yieldToOthers();
        began = performance.now();
      }
      if (reference === '' && base === url) {
        keep(entry.seq);
        continue;
      }
      const found = memory.get(reference);
      if (found !== undefined) {
        if (found !== null) keep(found);
        continue;
      }
      const target = pageUrl(reference, base);
      let final: number | string | null | undefined;
      if (target === null) final = null;
      else {
        const { href } = target;
        const known = frontier.seqOf(href);
        if (known !== undefined) final = known;
        else if (!scope.has(target.host)) final = href;
        else if (entry.depth >= maxDepth) keep(href);
        else if (refused || facts.nofollow) {
          if (unfollowed.size < maxUnfollowed && !unfollowed.has(href))
            unfollowed.set(href, { depth: entry.depth + 1, foundOn: entry.seq });
          keep(href);
        } else {
          final = (await discover(target, { depth: entry.depth + 1, foundOn: entry.seq, redirects: 0 })) ?? undefined;
          if (final === undefined) keep(href);
        }
      }
      if (final === undefined) continue;
      if (final !== null) keep(final);
      if (!BY_PAGE.test(reference)) {
        memory.set(ownText(reference), final);
        rememberedSize += ENTRY_SIZE + reference.length + (typeof final === 'string' ? final.length : 0);
      }
    }
    return { links: [...links], otherLinks: [...others], linksTruncated };
  }

  return {
    discover,
    follow,
    discoverUnfollowed() {
      for (const [url, { depth, foundOn }] of unfollowed) add(url, { depth, foundOn, redirects: 0 }, NOFOLLOW_REASON);
      unfollowed.clear();
    },
  };
}
