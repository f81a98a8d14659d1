/** Rewrites a reference so that its query is what a page of some encoding means by it. */
export type EncodeQuery = (reference: string) => string;

const DOUBLE_BYTE: ReadonlySet<string> = new Set(['gbk', 'gb18030', 'big5', 'shift_jis', 'euc-jp', 'euc-kr']);
const SINGLE_BYTE = /^(?:windows-(?:125[0-8]|874)|iso-8859-(?:[2-8]|8-i|1[03-6])|koi8-[ru]|macintosh|x-mac-cyrillic|ibm866)$/;
const NOT_ASCII = /[^\0-\x7f]/u;
const EVERY_NOT_ASCII = new RegExp(NOT_ASCII, 'gu');
const LINE_FEED = 0x0a;
/** A last byte that is ASCII is from `@` on, and so none that a query escapes. */
const written = (bytes: readonly number[]): string =>
  bytes.map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase()}`)).join('');

/** Lead bytes whose characters the Encoding Standard writes otherwise (§12.3.2, §11.1.2). */
const isOnlyRead = (encoding: string, lead: number): boolean =>
  (encoding === 'shift_jis' && (lead === 0xed || lead === 0xee)) || (encoding === 'big5' && lead < 0xa1);

/** How each character of an encoding is written in a query: what its decoder reads, turned round. */
function readTable(encoding: string): Map<string, string> {
  const table = new Map<string, string>();
  const decoder = new TextDecoder(encoding);
  const add = (lead: readonly number[], lasts: readonly number[]): void => {
    const read = decoder.decode(Uint8Array.from(lasts.flatMap((last) => [...lead, last, LINE_FEED]))).split('\n');
    for (const [index, last] of lasts.entries()) {
      const character = read[index] ?? '';
      if ([...character].length === 1 && character !== '\ufffd' && NOT_ASCII.test(character) && !table.has(character))
        table.set(character, written([...lead, last]));
    }
  };
  const high = Array.from({ length: 0x80 }, (_, index) => 0x80 + index);
  for (const byte of high) add([], [byte]);
  if (!DOUBLE_BYTE.has(encoding)) return table;
  const trails = Array.from({ length: 0xbf }, (_, index) => 0x40 + index);
  for (const lead of high) if (!isOnlyRead(encoding, lead)) add([lead], trails);
  return table;
}

/**
 * The URL Standard (§4.4, query state) has a page's queries written in the page's own encoding, and its paths in UTF-8. Null for pages
 * in UTF-8 and UTF-16, and in what is not worth it: ISO-2022-JP. `encoding` is the name that a decoder gives itself.
 */
export function createEncodeQuery(encoding: string): EncodeQuery | null {
  if (!DOUBLE_BYTE.has(encoding) && !SINGLE_BYTE.test(encoding)) return null;
  let table: Map<string, string> | undefined;
  return (reference) => {
    const query = reference.indexOf('?');
    if (query < 0 || !NOT_ASCII.test(reference.slice(query))) return reference;
    table ??= readTable(encoding);
    const known = table;
    const encode = (character: string): string => known.get(character) ?? `%26%23${character.codePointAt(0)}%3B`;
    return reference.slice(0, query) + reference.slice(query).replace(EVERY_NOT_ASCII, encode);
  };
}
