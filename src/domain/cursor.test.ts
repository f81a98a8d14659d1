import { describe, expect, test } from 'vitest';
import { type CursorScope, decodeCursor, encodeCursor, MAX_CURSOR_LENGTH, type Position, type PositionKinds } from './cursor.ts';
import { Refusal } from './errors.ts';

const SCOPE: CursorScope = { list: 'crawls', organizationId: 'org-1', filter: { siteId: 's-1', state: null } };
const KINDS: PositionKinds = ['number', 'string'];
const POSITION: Position = [1_795_000_000_000, '00000000-0000-4000-8000-000000000001'];

function refusalOf(cursor: string, scope: CursorScope = SCOPE, kinds = KINDS): Refusal {
  try {
    decodeCursor(cursor, scope, kinds);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error(`"${cursor}" was accepted`);
}

const rewritten = (cursor: string, edit: (parts: unknown[]) => void): string => {
  const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
  edit(parts);
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
};

describe('a cursor', () => {
  test('is read back as the position it was made of', () => {
    expect(decodeCursor(encodeCursor(POSITION, SCOPE), SCOPE, KINDS)).toEqual(POSITION);
    expect(decodeCursor(encodeCursor(['ä.example:81'], SCOPE), SCOPE, ['string'])).toEqual(['ä.example:81']);
    expect(decodeCursor(encodeCursor([-1, 0, ''], SCOPE), SCOPE, ['number', 'number', 'string'])).toEqual([-1, 0, '']);
  });

  test('is the same whatever the order in which the filter is written', () => {
    const reversed = { ...SCOPE, filter: { state: null, siteId: 's-1' } };
    expect(decodeCursor(encodeCursor(POSITION, SCOPE), reversed, KINDS)).toEqual(POSITION);
  });

  test('fits a URL without escaping', () => {
    expect(encodeCursor(['/?&=+ %', 'é'], SCOPE)).toMatch(/^[\w-]+$/);
  });

  test.each<[string, CursorScope]>([
    ['organization', { ...SCOPE, organizationId: 'org-2' }],
    ['list', { ...SCOPE, list: 'sites' }],
    ['filter value', { ...SCOPE, filter: { siteId: 's-2', state: null } }],
    ['filter with one field more', { ...SCOPE, filter: { ...SCOPE.filter, host: null } }],
    ['filter that is empty', { ...SCOPE, filter: {} }],
  ])('of another %s is refused', (_, scope) => {
    expect(refusalOf(encodeCursor(POSITION, scope)).code).toBe('invalid_cursor');
  });

  test('is refused with any one of its characters changed, left out or added', () => {
    const cursor = encodeCursor(POSITION, SCOPE);
    for (let index = 0; index < cursor.length; index++) {
      const other = cursor[index] === 'A' ? 'B' : 'A';
      refusalOf(cursor.slice(0, index) + other + cursor.slice(index + 1));
      refusalOf(cursor.slice(0, index) + cursor.slice(index + 1));
      refusalOf(`${cursor.slice(0, index)}A${cursor.slice(index)}`);
    }
  });

  test.each<[string, (parts: unknown[]) => void]>([
    ['another version', (parts) => parts.splice(0, 1, 2)],
    ['a version written as text', (parts) => parts.splice(0, 1, '1')],
    ['another position', (parts) => parts.splice(2, 1, 1_795_000_000_001)],
    ['one part more', (parts) => parts.push('x')],
    ['one part less', (parts) => parts.pop()],
    ['a part that is no text and no whole number', (parts) => parts.splice(2, 1, 1.5)],
    ['a part that is null', (parts) => parts.splice(3, 1, null)],
    ['no checksum', (parts) => parts.splice(1, 1)],
  ])('with %s is refused', (_, edit) => {
    expect(refusalOf(rewritten(encodeCursor(POSITION, SCOPE), edit)).code).toBe('invalid_cursor');
  });

  test('of another length than the list’s is refused, its checksum right or not', () => {
    expect(refusalOf(encodeCursor([...POSITION, 'x'], SCOPE)).code).toBe('invalid_cursor');
    expect(refusalOf(encodeCursor([1], SCOPE)).code).toBe('invalid_cursor');
  });

  // whoever makes one with a right checksum was answered 500
  test('with parts of other kinds is refused, its checksum right', () => {
    for (const forged of [
      ['x', 'y'],
      [1, 2],
      ['x', 2],
    ])
      expect(refusalOf(encodeCursor(forged, SCOPE)).code).toBe('invalid_cursor');
  });

  test.each(['', ' ', 'null', '{}', 'W10', 'bnVsbA', 'e30', '"', '💥', '%5B%5D', '../../etc/passwd', 'W10='])('"%s" is refused', (text) => {
    expect(refusalOf(text).code).toBe('invalid_cursor');
  });

  test('written otherwise than it was given out is refused: padded, in the other alphabet, with spaces', () => {
    const cursor = encodeCursor(['>>>???'], SCOPE);
    refusalOf(`${cursor}=`, SCOPE, ['string']);
    refusalOf(`${cursor} `, SCOPE, ['string']);
    refusalOf(Buffer.from(` ${Buffer.from(cursor, 'base64url')}`).toString('base64url'), SCOPE, ['string']);
  });

  test('longer than the bound is refused unread', () => {
    const long = encodeCursor(['x'.repeat(MAX_CURSOR_LENGTH)], SCOPE);
    expect(refusalOf(long, SCOPE, ['string']).code).toBe('invalid_cursor');
    expect(refusalOf('A'.repeat(1_000_000)).code).toBe('invalid_cursor');
  });

  test('of the longest authority there is stays within the bound', () => {
    const authority = `${'a'.repeat(253)}:65535`;
    expect(encodeCursor([authority], SCOPE).length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
  });

  test('that is refused names the parameter', () => {
    expect(refusalOf('x').facts.errors).toEqual([{ parameter: 'cursor', detail: expect.any(String) }]);
  });
});
