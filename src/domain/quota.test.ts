import { describe, expect, test } from 'vitest';
import { chunkOf, freeOf, monthOf, resetsAt } from './quota.ts';

const at = (time: string): number => Date.parse(time);

describe('a month', () => {
  test.each([
    ['2026-11-01T00:00:00.000Z', '2026-11'],
    ['2026-11-30T23:59:59.999Z', '2026-11'],
    ['2026-12-01T00:00:00.000Z', '2026-12'],
    ['2026-12-31T23:59:59.999Z', '2026-12'],
    ['2027-01-01T00:00:00.000Z', '2027-01'],
    ['2028-02-29T12:00:00.000Z', '2028-02'],
    ['2026-12-01T00:30:00.000+01:00', '2026-11'],
  ])('of %s is %s, in UTC', (time, month) => {
    expect(monthOf(at(time))).toBe(month);
  });

  test.each([
    ['2026-11', '2026-12-01T00:00:00.000Z'],
    ['2026-12', '2027-01-01T00:00:00.000Z'],
    ['2027-01', '2027-02-01T00:00:00.000Z'],
    ['2028-02', '2028-03-01T00:00:00.000Z'],
  ])('%s is over at %s', (month, time) => {
    expect(resetsAt(month)).toBe(at(time));
    expect(monthOf(resetsAt(month) - 1)).toBe(month);
    expect(monthOf(resetsAt(month))).not.toBe(month);
  });
});

describe('what is free', () => {
  test('is the limit less what is used and reserved', () => {
    expect(freeOf({ limit: 100, used: 30, reserved: 20 })).toBe(50);
  });

  test('is never negative, also after the limit was lowered', () => {
    expect(freeOf({ limit: 10, used: 30, reserved: 20 })).toBe(0);
  });
});

describe('a grant', () => {
  test.each([
    [1_000, 1_000, 100],
    [40, 1_000, 40],
    [1_000, 7, 7],
    [0, 7, 0],
    [7, 0, 0],
    [7, -3, 0],
  ])('with %i free and %i wanted is %i', (free, wanted, chunk) => {
    expect(chunkOf(free, wanted)).toBe(chunk);
  });
});
