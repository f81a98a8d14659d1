import { describe } from 'vitest';
import { accountTests } from './accounts.ts';
import { analysisTests } from './analysis.ts';
import { claimTests } from './claims.ts';
import { commitTests } from './commits.ts';
import { copyTests } from './copies.ts';
import { crashTests } from './crash.ts';
import { endingTests } from './endings.ts';
import { eventTests } from './events.ts';
import { exclusionTests } from './exclusion.ts';
import type { StoreHarness } from './harness.ts';
import { idempotencyTests } from './idempotency.ts';
import { keepingTests } from './keeping.ts';
import { leadershipTests } from './leadership.ts';
import { leaseTests } from './leases.ts';
import { listTests } from './lists.ts';
import { quotaTests } from './quota.ts';
import { removalTests } from './removal.ts';
import { removalCrashTests } from './removal-crash.ts';
import { startTests } from './starts.ts';

/** Holds an adapter to the store port: every sentence of its docstrings, racing callers, and a cut at every write. */
export function storeContract(name: string, harness: StoreHarness): void {
  describe(`the store port on ${name}`, () => {
    accountTests(harness);
    startTests(harness);
    idempotencyTests(harness);
    listTests(harness);
    claimTests(harness);
    leaseTests(harness);
    leadershipTests(harness);
    commitTests(harness);
    quotaTests(harness);
    analysisTests(harness);
    endingTests(harness);
    eventTests(harness);
    keepingTests(harness);
    exclusionTests(harness);
    copyTests(harness);
    removalTests(harness);
    removalCrashTests(harness);
    crashTests(harness);
  });
}
