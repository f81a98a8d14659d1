import { describe, expect, test } from 'vitest';
import { allowanceOf, emptyRing, retryAfterMs, START_WINDOW_MS, STARTS_PER_WINDOW, take } from './start-ring.ts';

const NOW = 1_795_000_000_000;

/** A small seeded generator (mulberry32): the same numbers in each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const ringOf = (...times: number[]) => times.reduce((ring, time) => take(ring, time), emptyRing());

describe('the ring of starts', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'never accepts eleven starts in any window, and never refuses one that would be the tenth (seed %i)',
    (seed) => {
      const random = randomOf(seed);
      const accepted: number[] = [];
      let ring = emptyRing();
      let now = NOW;
      for (let attempt = 0; attempt < 2_000; attempt++) {
        // bursts within one millisecond, short waits, and now and then a long one
        now += random() < 0.3 ? 0 : Math.floor(random() ** 4 * START_WINDOW_MS * 1.5);
        const inWindow = accepted.filter((time) => time > now - START_WINDOW_MS).length;
        const wait = retryAfterMs(ring, now);
        expect(wait === 0).toBe(inWindow < STARTS_PER_WINDOW);
        expect(allowanceOf(ring, now).remaining).toBe(STARTS_PER_WINDOW - inWindow);
        if (wait > 0) {
          const atLast = now + wait;
          expect(accepted.filter((time) => time > atLast - START_WINDOW_MS).length).toBeLessThan(STARTS_PER_WINDOW);
          expect(accepted.filter((time) => time > atLast - 1 - START_WINDOW_MS).length).toBe(STARTS_PER_WINDOW);
          continue;
        }
        ring = take(ring, now);
        accepted.push(now);
      }
      expect(accepted.length).toBeGreaterThan(400);
      for (let index = STARTS_PER_WINDOW; index < accepted.length; index++)
        expect((accepted[index] ?? 0) - (accepted[index - STARTS_PER_WINDOW] ?? 0)).toBeGreaterThanOrEqual(START_WINDOW_MS);
    },
  );

  test('is empty for a key that has started nothing', () => {
    expect(retryAfterMs(emptyRing(), NOW)).toBe(0);
    expect(allowanceOf(emptyRing(), NOW)).toEqual({ remaining: 10, resetMs: 0 });
  });

  test('tells a full key when its oldest start is a minute old', () => {
    const ring = ringOf(...Array.from({ length: 10 }, (_, index) => NOW + index * 1_000));
    expect(retryAfterMs(ring, NOW + 9_000)).toBe(51_000);
    expect(retryAfterMs(ring, NOW + 59_999)).toBe(1);
    expect(retryAfterMs(ring, NOW + 60_000)).toBe(0);
    expect(allowanceOf(ring, NOW + 9_000)).toEqual({ remaining: 0, resetMs: 51_000 });
    expect(allowanceOf(ring, NOW + 62_000)).toEqual({ remaining: 3, resetMs: 1_000 });
  });

  test('does not change the ring that it is given', () => {
    const ring = emptyRing();
    take(ring, NOW);
    expect(ring).toEqual(emptyRing());
  });
});
