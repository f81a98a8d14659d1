import { describe } from 'vitest';
import { claimTests } from './claims.ts';
import { commitTests } from './commits.ts';
import type { StoreHarness } from './harness.ts';
import { startTests } from './starts.ts';

/** Holds an adapter to the store port: every sentence of its docstrings, racing callers, and a cut at every write. */
export function storeContract(name: string, harness: StoreHarness): void {
  describe(`the store port on ${name}`, () => {
    startTests(harness);
    claimTests(harness);
    commitTests(harness);
  });
}
