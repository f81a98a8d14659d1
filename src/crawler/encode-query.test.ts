import { describe, expect, it } from 'vitest';
import { createEncodeQuery } from './encode-query.ts';

describe('the query of a reference', () => {
  it.each([
    ['windows-1252', '/s?q=café', '/s?q=caf%E9'],
    ['windows-1251', '?q=Привет&a=b', '?q=%CF%F0%E8%E2%E5%F2&a=b'],
    ['koi8-r', '?Привет', '?%F0%D2%C9%D7%C5%D4'],
    ['iso-8859-2', '?ł', '?%B3'],
    ['gbk', '?wd=中文€', '?wd=%D6%D0%CE%C4%80'],
    ['gb18030', '?wd=中文', '?wd=%D6%D0%CE%C4'],
    ['big5', '?繁體', '?%C1c%C5%E9'],
    ['shift_jis', '?日本語ｱ', '?%93%FA%96{%8C%EA%B1'],
    ['euc-jp', '?日本語ｱ', '?%C6%FC%CB%DC%B8%EC%8E%B1'],
    ['euc-kr', '?한국', '?%C7%D1%B1%B9'],
  ])('of a page in %s is written in it: %s', (encoding, reference, written) => {
    const encode = createEncodeQuery(encoding);
    expect(encode?.(reference)).toBe(written);
  });
  it('leaves the path as it is, and writes what the encoding lacks as its number', () => {
    const encode = createEncodeQuery('windows-1252');
    expect(encode?.('/ü/ß')).toBe('/ü/ß');
    expect(encode?.('/ü?ü=中😀')).toBe('/ü?%FC=%26%2320013%3B%26%23128512%3B');
    expect(encode?.('/?a=%20+b c')).toBe('/?a=%20+b c');
  });
  it('is what the decoder of the encoding reads back, for every character that it can write', () => {
    for (const encoding of ['windows-1252', 'gbk', 'big5', 'shift_jis', 'euc-jp', 'euc-kr']) {
      const encode = createEncodeQuery(encoding);
      const decoder = new TextDecoder(encoding);
      let written = 0;
      for (let code = 0xa0; code < 0xd800; code++) {
        const [, escaped = ''] = encode?.(`?${String.fromCharCode(code)}`)?.split('?') ?? [];
        if (escaped.startsWith('%26%23')) continue;
        const bytes = Array.from(escaped.matchAll(/%(..)|[@-~]/g), ([char, hex]) =>
          hex === undefined ? char.charCodeAt(0) : Number.parseInt(hex, 16),
        );
        expect(decoder.decode(Uint8Array.from(bytes))).toBe(String.fromCharCode(code));
        written++;
      }
      expect(written).toBeGreaterThan(encoding === 'windows-1252' ? 110 : 6_000);
    }
  });
  it('of a page in UTF-8 or UTF-16 is left to the URL', () => {
    expect(['utf-8', 'utf-16le', 'utf-16be', 'iso-2022-jp', 'x-user-defined'].map(createEncodeQuery)).toEqual([
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});
