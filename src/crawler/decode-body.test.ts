import { createHash } from 'node:crypto';
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createBodyDecoder, isEncoded } from './decode-body.ts';

const text = Buffer.from('The quick brown fox jumps over the lazy dog. '.repeat(5_000));

/** Hardly compressible, so that what is cut off lacks something. */
const noise = createHash('shake256', { outputLength: 1_000_000 }).update('noise').digest();

/** What comes out of a body that is sent in chunks of 1,000 bytes, and whether it was whole. */
const decode = (encoding: string, body: Buffer): Promise<{ out: Buffer; whole: boolean }> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const decoder = createBodyDecoder(
      encoding,
      1_000_000,
      (chunk) => chunks.push(chunk),
      (whole) => resolve({ out: Buffer.concat(chunks), whole }),
    );
    for (let at = 0; at < body.length; at += 1_000) decoder.write(body.subarray(at, at + 1_000));
    decoder.end();
  });

const encoded: [string, Buffer][] = [
  ['gzip', zlib.gzipSync(text)],
  ['X-GZIP', zlib.gzipSync(text)],
  ['deflate', zlib.deflateSync(text)],
  ['br', zlib.brotliCompressSync(text)],
  ['zstd', zlib.zstdCompressSync(text)],
  ['gzip, br', zlib.brotliCompressSync(zlib.gzipSync(text))],
];

describe('a content coding', () => {
  it.each([...encoded, ['deflate', zlib.deflateRawSync(text)] as [string, Buffer]])('%s is undone', async (encoding, body) => {
    const { out, whole } = await decode(encoding, body);
    expect(whole).toBe(true);
    expect(out.equals(text)).toBe(true);
  });

  it.each([
    ['gzip', zlib.gzipSync(noise)],
    ['deflate', zlib.deflateSync(noise)],
    ['br', zlib.brotliCompressSync(noise)],
    ['zstd', zlib.zstdCompressSync(noise)],
  ])('%s that is cut off comes out as far as it goes', async (encoding, body) => {
    const { out, whole } = await decode(encoding, body.subarray(0, Math.floor(body.length * 0.9)));
    expect(whole).toBe(false);
    expect(out.length).toBeGreaterThan(0);
    expect(noise.subarray(0, out.length).equals(out)).toBe(true);
  });

  it.each([
    ['klingon', noise],
    ['gzip, gzip, gzip, gzip', text],
  ])('%s is given up', async (encoding, body) => {
    expect(await decode(encoding, body)).toMatchObject({ whole: false, out: Buffer.alloc(0) });
  });

  // Servers name a charset here, or "none"; nothing was read of such pages.
  it.each([
    ['UTF-8', text],
    ['none', text],
    ['gzip, UTF-8', zlib.gzipSync(text)],
    ['UTF-8', Buffer.alloc(0)],
  ])('%s that is none is passed over', async (encoding, body) => {
    const { out, whole } = await decode(encoding, body);
    expect(whole).toBe(true);
    expect(out.equals(body.length === 0 ? body : text)).toBe(true);
  });

  it('that is a bomb inside another, of which nothing ever comes out, is given up', async () => {
    const nothing = zlib.gzipSync('');
    const bombOf = (blocks: number) => {
      const emptyBlocks = Buffer.alloc(5 * blocks, Buffer.from([0, 0, 0, 0xff, 0xff]));
      return zlib.gzipSync(Buffer.concat([nothing.subarray(0, 10), emptyBlocks, nothing.subarray(10)]));
    };
    expect(await decode('gzip, gzip', bombOf(1_000))).toMatchObject({ whole: true });
    expect(bombOf(500_000).length).toBeLessThan(10_000);
    expect(await decode('gzip, gzip', bombOf(500_000))).toMatchObject({ whole: false });
  });

  it('that is broken is given up', async () => {
    expect((await decode('gzip', text)).whole).toBe(false);
  });

  it('is there when the header names one other than identity', () => {
    expect(['', 'identity', ' , ', 'gzip', 'GZIP, identity'].map(isEncoded)).toEqual([false, false, false, true, true]);
  });
});
