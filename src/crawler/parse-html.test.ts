import { describe, expect, it } from 'vitest';
import { decodeText, isHtml, looksLikeHtml, parseHtml } from './parse-html.ts';

const url = new URL('https://example.com/dir/page?q=1');
const parse = (html: string) => parseHtml(html, url);
const references = (html: string): [string, boolean][] => [...parse(html).references];

describe('references', () => {
  it('come from a and area elements, once each, without fragments, in order', () => {
    expect(references('<a href="b#x">1</a><area href="c"><a href="b#y">2</a><a href="#top">3</a><a>4</a><link href="d">')).toEqual([
      ['b', false],
      ['c', false],
      ['', false],
    ]);
  });
  it('are nofollow only when every one of them is', () => {
    expect(references('<a href=a rel="external NoFollow">1</a><a href=b rel=nofollow>2</a><a href=a>3</a>')).toEqual([
      ['a', false],
      ['b', true],
    ]);
  });
  it('have their character references decoded', () => {
    expect(references('<a href="?a=1&amp;b=2">x</a>')).toEqual([['?a=1&b=2', false]]);
  });
  it('are relative to the first usable base element', () => {
    expect(parse('<base href="mailto:a"><base href="/base/"><base href="/other/"><a href=x>').base.href).toBe('https://example.com/base/');
    expect(parse('<a href=x>').base).toBe(url);
  });
});

describe('facts', () => {
  it('are read in one pass', () => {
    const { facts } = parse(`<html lang="de"><head><title> A
      title </title><meta name="Description" content=" what  it is "><link rel="x CANONICAL" href="/c#f"></head>
      <body><h1>one</h1><h1>two</h1><img src=a><img alt="" src=b><script>var x = '<a href=z>';</script><style>b{}</style>text</body>`);
    expect(facts).toEqual({
      title: 'A title',
      description: 'what it is',
      lang: 'de',
      canonical: 'https://example.com/c',
      h1Count: 2,
      imagesWithoutAlt: 1,
      textLength: 'A\n      title'.length + 'one'.length + 'two'.length + 'text'.length,
      noindex: false,
      nofollow: false,
    });
  });
  it('are empty on an empty page', () => {
    expect(parse('').facts).toMatchObject({ title: '', description: null, lang: null, canonical: null, h1Count: 0, textLength: 0 });
  });
  it('do not take the title of an SVG, or of the body, for that of the page', () => {
    expect(parse('<svg><title>icon</title></svg><title>page</title>').facts.title).toBe('page');
    expect(parse('<head></head><body><title>late</title></body>').facts.title).toBe('');
  });
  it.each([
    ['robots', 'noindex, nofollow', true, true],
    ['ROBOTS', 'none', true, true],
    ['crawlgate', 'nofollow', false, true],
    ['googlebot', 'nofollow', false, false],
    ['robots', 'index,follow', false, false],
  ])('<meta name=%s content="%s">: noindex %s, nofollow %s', (name, content, noindex, nofollow) => {
    expect(parse(`<meta name="${name}" content="${content}">`).facts).toMatchObject({ noindex, nofollow });
  });
  it('are bounded', () => {
    expect(parse(`<title>${'x'.repeat(100_000)}</title>`).facts.title.length).toBe(2_048);
  });
  it('survive any HTML', () => {
    const html =
      '<html><head><title>Un<b>closed</title><body></p><a href="x"<a href=\'y\'><table><div <p></span></table></svg></math><!-- ';
    expect(parse(html).facts.title).toBe('Un<b>closed');
  });
});

describe('the character encoding', () => {
  const cafe = (head: string): Buffer => Buffer.from(`${head}<title>Caf\u00e9</title>`, 'latin1');
  it.each([
    ['the header', cafe(''), 'text/html; charset="ISO-8859-1"'],
    ['a meta element', cafe('<meta charset=windows-1252>'), 'text/html'],
    ['a BOM, whatever the header says', Buffer.from('\uFEFFCaf\u00e9', 'utf16le'), 'text/html; charset=iso-8859-1'],
    ['being valid UTF-8', Buffer.from('Caf\u00e9'), 'text/html'],
    ['windows-1252 when nothing tells', cafe(''), 'text/html'],
    ['being valid UTF-8, when the header names one that does not exist', Buffer.from('Caf\u00e9'), 'text/html; charset=klingon-8'],
  ])('is told by %s', (_, body, contentType) => {
    expect(decodeText(body, contentType)).toContain('Caf\u00e9');
  });
  it('that is wrong costs characters, not the page', () => {
    expect(decodeText(cafe(''), 'text/html; charset=utf-8')).toBe('<title>Caf\uFFFD</title>');
  });
});

describe('what is HTML', () => {
  it('is told by the content type', () => {
    expect(['text/html', 'Text/HTML;charset=x', ' application/xhtml+xml ', null].map(isHtml)).toEqual([true, true, true, true]);
    expect(['text/plain', 'image/svg+xml', 'text/html5', ''].map(isHtml)).toEqual([false, false, false, false]);
  });
  it('is told by how it starts when there is none', () => {
    expect(['\n<!DOCTYPE html>', '<html>', '\uFEFF<p>x', '<!-- x --><b>'].map((text) => looksLikeHtml(Buffer.from(text)))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['%PDF-1.7', 'plain text', '<?xml version="1.0"?>', '<htmlx'].map((text) => looksLikeHtml(Buffer.from(text)))).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});
