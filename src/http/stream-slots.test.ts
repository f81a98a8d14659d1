import { describe, expect, it } from 'vitest';
import type { KeyId } from '#domain/ids.ts';
import { createTakeSlot } from './stream-slots.ts';

const ONE = 'one' as KeyId;
const TWO = 'two' as KeyId;
const THREE = 'three' as KeyId;
const limits = { what: 'things', perKey: 2, perProcess: 3 };

describe('slots', () => {
  it('are refused to a key that has all it may have, with the limit and when to come again', () => {
    const take = createTakeSlot(limits);
    const giveBack = take(ONE);
    take(ONE);
    const detail = 'An API key may have 2 things open.';
    expect(() => take(ONE)).toThrow(expect.objectContaining({ code: 'rate_limited', message: detail, facts: { retryAfterMs: 10_000 } }));
    giveBack();
    take(ONE);
    expect(() => take(ONE)).toThrow(detail);
  });

  it('are refused to every key when the process has all it may have', () => {
    const take = createTakeSlot(limits);
    const giveBack = take(ONE);
    take(ONE);
    take(TWO);
    expect(() => take(THREE)).toThrow(
      expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('3 things'), facts: { retryAfterMs: 5_000 } }),
    );
    giveBack();
    take(THREE);
  });

  it('are given back once, however often that is said', () => {
    const take = createTakeSlot(limits);
    const giveBack = take(ONE);
    take(ONE);
    giveBack();
    giveBack();
    take(ONE);
    expect(() => take(ONE)).toThrow(expect.objectContaining({ code: 'rate_limited' }));
  });
});
