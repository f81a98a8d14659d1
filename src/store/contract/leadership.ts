import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Store } from '#store/store.ts';
import type { StoreHarness } from './harness.ts';
import { inWorld } from './world.ts';

const HOUR = 60 * 60 * 1_000;
const CANDIDATES = Array.from({ length: 20 }, (_, index) => `candidate ${index}`);

/** Resolves when the store's clock shows `at` or later. */
async function until(store: Store, at: number): Promise<void> {
  for (let now = await store.now(); now < at; now = await store.now()) await delay(at - now);
}

/** All candidates ask at once; answers the one that leads, and what the others were told. */
async function race(store: Store, termMs: number): Promise<{ leader: string; told: number[] }> {
  const answers = await Promise.all(CANDIDATES.map((candidate) => store.acquireLeadership(candidate, termMs)));
  const leaders = CANDIDATES.filter((_, index) => answers[index] === 0);
  expect(leaders).toHaveLength(1);
  return { leader: leaders[0] ?? '', told: answers.filter((answer) => answer > 0) };
}

export function leadershipTests(harness: StoreHarness): void {
  describe('leadership', () => {
    test(
      'is had by one of twenty that ask at once, and the others are told when its term ends',
      inWorld(harness, async ({ store }) => {
        const { told } = await race(store, HOUR);
        expect(told).toHaveLength(CANDIDATES.length - 1);
        for (const endsInMs of told) {
          expect(endsInMs).toBeGreaterThan(HOUR - 60_000);
          expect(endsInMs).toBeLessThanOrEqual(HOUR);
        }
      }),
    );

    test(
      'is kept by whoever renews it, for a term that begins with the renewal',
      inWorld(harness, async ({ store }) => {
        expect(await store.acquireLeadership('one', 60_000)).toBe(0);
        expect(await store.acquireLeadership('one', HOUR)).toBe(0);
        expect(await store.acquireLeadership('other', 1)).toBeGreaterThan(HOUR - 60_000);
        expect(await store.acquireLeadership('one', HOUR)).toBe(0);
      }),
    );

    test(
      'comes free by the store’s time when its term has ended, not before, and again is had by one of twenty',
      inWorld(harness, async ({ store }) => {
        const askedAt = await store.now();
        expect(await store.acquireLeadership('first', 150)).toBe(0);
        for (let endsInMs = 150; endsInMs > 0; endsInMs = await store.acquireLeadership('second', 150)) {
          expect(endsInMs).toBeLessThanOrEqual(150);
          await delay(endsInMs);
        }
        const electedAt = await store.now();
        expect(electedAt).toBeGreaterThanOrEqual(askedAt + 150);
        await until(store, electedAt + 150);
        await race(store, HOUR);
        for (const former of ['first', 'second']) expect(await store.acquireLeadership(former, HOUR)).toBeGreaterThan(0);
      }),
    );
  });
}
