import { describe, expect, it } from 'vitest';
import { decodeText } from './decode-text.ts';
import { processorTime } from './fixtures/processor-time.ts';

describe('the character encoding', () => {
  const cafe = (head: string): Buffer => Buffer.from(`${head}<title>Caf\u00e9</title>`, 'latin1');
  it.each([
    ['the header', cafe(''), 'text/html; charset="ISO-8859-1"'],
    ['a meta element', cafe('<meta charset=windows-1252>'), 'text/html'],
    ['a BOM, whatever the header says', Buffer.from('\uFEFFCaf\u00e9', 'utf16le'), 'text/html; charset=iso-8859-1'],
    ['a BOM, when the header says UTF-8', Buffer.from('\uFEFFCaf\u00e9', 'utf16le'), 'text/html; charset=utf-8'],
    ['the header, and a BOM that is no text', Buffer.from('\uFEFFCaf\u00e9'), 'text/html; charset=UTF8'],
    ['being valid UTF-8', Buffer.from('Caf\u00e9'), 'text/html'],
    ['windows-1252 when nothing tells', cafe(''), 'text/html'],
    ['being valid UTF-8, when the header names one that does not exist', Buffer.from('Caf\u00e9'), 'text/html; charset=klingon-8'],
  ])('is told by %s', (_, body, contentType) => {
    expect(decodeText(body, contentType).text).toContain('Caf\u00e9');
    expect(decodeText(body, contentType).text).not.toContain('\uFEFF');
  });
  it('is told by a meta element far down in what is no UTF-8', () => {
    const head = `<!--${'x'.repeat(5_000)}--><meta charset=windows-1251>`;
    expect(decodeText(Buffer.from(`${head}\xcf`, 'latin1'), 'text/html')).toEqual({ text: `${head}П`, encoding: 'windows-1251' });
  });
  it('that is wrong costs characters, not the page', async () => {
    expect(decodeText(cafe(''), 'text/html; charset=utf-8').text).toBe('<title>Caf\uFFFD</title>');
  });
  it('that only begins, before many spaces, takes no longer than a pass over them', () => {
    const began = processorTime();
    expect(decodeText(Buffer.from('x'), `text/html; charset=${' '.repeat(60_000)};`).text).toBe('x');
    expect(processorTime() - began).toBeLessThan(1_000); // of the square of their number, several seconds
  });
});
