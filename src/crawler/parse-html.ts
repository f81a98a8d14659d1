import { type Handler, Parser } from 'htmlparser2';
import type { PageFacts } from '#domain/page.ts';
import { pageUrl } from '#domain/url.ts';
import type { EncodeQuery } from './encode-query.ts';
import { type Directives, NO_DIRECTIVES, OWN_NAME, readDirectives } from './robots-directives.ts';

export type ParsedPage = {
  readonly facts: PageFacts;
  /**
   * What a and area elements, frames and a meta refresh refer to, without fragments, in order of appearance; whether every one of them
   * is nofollow. The empty reference is the page itself, or its base.
   */
  readonly references: ReadonlyMap<string, boolean>;
  /** What the references are relative to. */
  readonly base: URL;
  /** There were more references than are kept. */
  readonly truncated: boolean;
};

const META_NAMES = new Set(['robots', OWN_NAME]);
/**
 * The elements whose attributes are read. The parser collects an element's attributes, a tenth of its work, only when somebody is to be
 * told of the open tag at the moment that its name has been told.
 */
const READ_TAGS: ReadonlySet<string> = new Set(
  'a area base body frame h1 html iframe img link math meta script style svg title'.split(' '),
);
/** More distinct references than this are not read from one page. */
const MAX_REFERENCES = 50_000;
const MAX_TEXT = 2_048;
const MAX_LANG = 64;
/** As deep as browsers go. The parser's work on each tag grows with the elements that are open: a closing tag is looked for among them. */
const MAX_NESTING = 512;
const SLICE_LENGTH = 256 * 1024;
/** Of what is nested deeper than pages are, where a closing tag may cost fifty times as much; small slices cost 2 % of the time elsewhere. */
const DEEP = 100;
const DEEP_SLICE_LENGTH = 32 * 1024;
/** Parsing goes on at most this long, and a slice, before others get their turn, in milliseconds. */
const SLICE_MS = 20;
/** HTML Standard §4.2.5.3, refresh state: seconds, and where to. */
const REFRESH = /^[\d.]+\s*[;,\s]\s*(?:url\s*=\s*)?(?:'([^']*)|"([^"]*)|(\S.*))/is;
const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/i;
const XHTML = /^\s*application\/xhtml\+xml/i;
const HTML_START = /^\s*<(?:!--|(?:!doctype\s+html|html|head|title|meta|body|script|style|link|div|p|a|h1|table|br|b)[\s>])/i;

/** Whether elements end with `/>`, which a script in HTML does not. */
export const isXhtml = (contentType: string | null): boolean => contentType !== null && XHTML.test(contentType);

export const isHtml = (contentType: string | null): boolean => contentType === null || HTML.test(contentType);

/** Whether a body without a content type starts like HTML (a short form of the MIME Sniffing Standard, §7.1). */
export const looksLikeHtml = (start: Buffer): boolean => HTML_START.test(start.toString('latin1', 0, 1_445).replace(/^ï»¿/, ''));

/** The beginning of a text: with no half of a character at its end, and in memory of its own, for a part of a text keeps the whole page. */
const beginning = (text: string, most: number): string => Buffer.from(text.slice(0, most)).toString();
const collapse = (text: string): string => beginning(text.replace(/\s+/g, ' ').trim(), MAX_TEXT);
const tokens = (text: string): string[] => text.toLowerCase().split(/[\s,]+/);

const yieldToOthers = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export type ParseOptions = {
  readonly asked?: Directives;
  readonly xhtml?: boolean;
  /** For a page in an encoding that queries are to be written in. */
  readonly encodeQuery?: EncodeQuery | null;
};

/**
 * One pass over a page's HTML, in slices, between which others of the thread get their turn. Never throws, whatever the HTML is
 * like; what is nested deeper than any browser would nest it is not read. `asked` is what the page's headers ask: it counts like what its
 * meta elements ask. `xhtml`: elements may end with `/>`.
 */
export async function parseHtml(
  html: string,
  url: URL,
  { asked = NO_DIRECTIVES, xhtml = false, encodeQuery = null }: ParseOptions = {},
): Promise<ParsedPage> {
  const references = new Map<string, boolean>();
  let base: URL | null = null;
  let title: string | null = null;
  let readingTitle = false;
  let inBody = false;
  let unseen = 0;
  let foreign = 0;
  let description: string | null = null;
  let lang: string | null = null;
  let canonical: string | null = null;
  let h1Count = 0;
  let imagesWithoutAlt = 0;
  let textLength = 0;
  let { noindex, nofollow }: Directives = asked;
  let truncated = false;
  let nesting = 0;

  function refer({ href, rel }: Record<string, string | undefined>): void {
    if (href === undefined) return;
    const hash = href.indexOf('#');
    const given = hash < 0 ? href : href.slice(0, hash);
    const reference = encodeQuery === null ? given : encodeQuery(given);
    const refused = rel !== undefined && tokens(rel).includes('nofollow');
    const known = references.get(reference);
    if (known === undefined && references.size >= MAX_REFERENCES) truncated = true;
    else if (known === undefined || (known && !refused)) references.set(reference, refused);
  }

  /** A place that the page itself leads to; nowhere when it is empty. */
  function referTo(href: string | undefined): void {
    if (href !== undefined && href.trim() !== '') refer({ href });
  }

  function meta({ name = '', content = '', 'http-equiv': pragma }: Record<string, string | undefined>): void {
    const kind = name.toLowerCase();
    if (pragma?.toLowerCase() === 'refresh') {
      const [, single, double, bare] = REFRESH.exec(content.slice(0, 2 * MAX_TEXT).trim()) ?? [];
      referTo(single ?? double ?? bare);
    }
    if (kind === 'description') description ??= collapse(content);
    else if (META_NAMES.has(kind)) {
      const directives = readDirectives(content);
      noindex ||= directives.noindex;
      nofollow ||= directives.nofollow;
    }
  }

  function openTag(name: string, attributes: Record<string, string>): void {
    switch (name) {
      case 'a':
      case 'area':
        refer(attributes);
        break;
      case 'frame':
      case 'iframe':
        referTo(attributes.src);
        break;
      case 'img':
        if (attributes.alt === undefined) imagesWithoutAlt++;
        break;
      case 'h1':
        h1Count++;
        break;
      case 'script':
      case 'style':
        unseen++;
        break;
      case 'svg':
      case 'math':
        foreign++;
        break;
      case 'meta':
        meta(attributes);
        break;
      case 'link':
        if (canonical === null && attributes.href && tokens(attributes.rel ?? '').includes('canonical')) canonical = attributes.href;
        break;
      case 'title':
        if (title === null && foreign === 0 && !inBody) {
          title = '';
          readingTitle = true;
        }
        break;
      case 'base':
        if (attributes.href !== undefined) base ??= pageUrl(attributes.href, url);
        break;
      case 'html':
        if (attributes.lang !== undefined) lang ??= beginning(attributes.lang.trim(), MAX_LANG);
        break;
      case 'body':
        inBody = true;
        break;
    }
  }

  const handler = {
    onopentag: openTag as typeof openTag | undefined,
    onopentagname(name: string) {
      if (++nesting > MAX_NESTING) {
        truncated = true;
        parser.pause();
      }
      handler.onopentag = READ_TAGS.has(name) ? openTag : undefined;
    },
    ontext(text: string) {
      if (unseen > 0) return;
      textLength += text.trim().length;
      if (readingTitle) title += text;
    },
    onclosetag(name: string) {
      nesting--;
      if (name === 'title') readingTitle = false;
      else if (name === 'script' || name === 'style') unseen--;
      else if (name === 'svg' || name === 'math') foreign--;
    },
  };
  const parser = new Parser(handler as Partial<Handler>, { recognizeSelfClosing: xhtml, recognizeCDATA: xhtml });
  let began = performance.now();
  for (let at = 0; at < html.length && nesting <= MAX_NESTING; ) {
    if (performance.now() - began > SLICE_MS) {
      await yieldToOthers();
      began = performance.now();
    }
    const end = at + (nesting > DEEP ? DEEP_SLICE_LENGTH : SLICE_LENGTH);
    parser.write(html.slice(at, end));
    at = end;
  }
  if (nesting <= MAX_NESTING) parser.end();

  const from = base ?? url;
  const facts: PageFacts = {
    title: collapse(title ?? ''),
    description,
    lang,
    canonical: canonical === null ? null : (pageUrl(canonical, from)?.href ?? null),
    h1Count,
    imagesWithoutAlt,
    textLength,
    noindex,
    nofollow,
  };
  return { facts, references, base: from, truncated };
}
