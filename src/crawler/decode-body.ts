import type { Transform } from 'node:stream';
import zlib from 'node:zlib';

/** Takes a body's raw chunks; what comes out is given to the callbacks it was made with. */
export type BodyDecoder = {
  readonly write: (chunk: Buffer) => void;
  /** No more chunks come; `onEnd` is called once what was written has come out. */
  readonly end: () => void;
  readonly destroy: () => void;
};

export const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';
/** More codings than this in a row only a bomb has. */
const MAX_CODINGS = 3;
const CHUNK = 64 * 1024;

const KNOWN = new Set(['gzip', 'x-gzip', 'br', 'zstd', 'deflate']);
/** What no text has (MIME Sniffing Standard, §3, binary data byte). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/;

function streamOf(coding: string, first: Buffer): Transform | null {
  const options = { chunkSize: CHUNK };
  if (coding === 'gzip' || coding === 'x-gzip') return zlib.createGunzip(options);
  if (coding === 'br') return zlib.createBrotliDecompress(options);
  if (coding === 'zstd') return zlib.createZstdDecompress(options);
  // RFC 9110 §8.4.1.2: deflate has a zlib header; some servers send it without.
  if (coding === 'deflate') return ((first[0] ?? 0) & 0x0f) === 0x08 ? zlib.createInflate(options) : zlib.createInflateRaw(options);
  return null;
}

/** The codings of a Content-Encoding header in the order in which they were applied. */
const codingsOf = (contentEncoding: string): string[] =>
  contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');

export const isEncoded = (contentEncoding: string): boolean => codingsOf(contentEncoding).length > 0;

/**
 * Undoes `contentEncoding`. What it names beside codings, such as a charset, is passed over as browsers do; a body of which only such is
 * said comes out as it is if it begins like text. `onEnd(false)`: it could not be undone to the end, because it is broken, not known, or
 * a bomb: between two codings more than `mostBetween` bytes came out. How much comes out at the end is for the taker to bound.
 */
export function createBodyDecoder(
  contentEncoding: string,
  mostBetween: number,
  onData: (chunk: Buffer) => void,
  onEnd: (whole: boolean) => void,
): BodyDecoder {
  const codings = codingsOf(contentEncoding)
    .filter((coding) => KNOWN.has(coding))
    .reverse();
  let streams: Transform[] | null = null;
  let ended = false;
  const finish = (whole: boolean): void => {
    if (ended) return;
    ended = true;
    for (const stream of streams ?? []) stream.destroy();
    onEnd(whole);
  };
  const open = (first: Buffer): void => {
    const made = codings.map((coding, index) => streamOf(coding, index === 0 ? first : Buffer.of(0x08)));
    streams = made.filter((stream) => stream !== null);
    if (codings.length > MAX_CODINGS || (codings.length === 0 && BINARY.test(first.toString('latin1', 0, 1_445)))) {
      finish(false);
      return;
    }
    streams.forEach((stream, index) => {
      const next = streams?.[index + 1];
      let between = 0;
      stream.on('error', () => finish(false));
      stream.on('data', (chunk: Buffer) => {
        if (ended) return;
        if (next === undefined) return onData(chunk);
        // The next coding may be slower, and make nothing of all this: what waits for it is memory.
        between += chunk.length;
        if (between > mostBetween) finish(false);
        else next.write(chunk);
      });
      stream.on('end', () => (next === undefined ? finish(true) : next.end()));
    });
  };
  return {
    write(chunk) {
      if (streams === null) open(chunk);
      if (ended) return;
      const [outermost] = streams ?? [];
      if (outermost === undefined) onData(chunk);
      else outermost.write(chunk);
    },
    end() {
      const [outermost] = streams ?? [];
      if (outermost === undefined) finish(true);
      else if (!ended) outermost.end();
    },
    destroy() {
      ended = true;
      for (const stream of streams ?? []) stream.destroy();
    },
  };
}
