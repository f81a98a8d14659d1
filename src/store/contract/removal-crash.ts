import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/errors.ts';
import type { OrganizationId } from '#domain/ids.ts';
import type { Store } from '#store/store.ts';
import { everythingOf, type Filled, fill } from './filled.ts';
import type { Fault, StoreHarness } from './harness.ts';
import { expectForgotten, idsOf, naming, removeAll } from './removal.ts';
import { createTenant, relayAll, type Tenant } from './world.ts';

/** What is known of a store before the removal. */
type Before = {
  readonly filled: Filled;
  readonly other: Tenant;
  readonly untouched: Record<string, unknown[]>;
  readonly ids: readonly string[];
  readonly name: string;
};

async function prepare(store: Store): Promise<Before> {
  const filled = await fill(store);
  const { organizationId } = filled.tenant;
  const other = await createTenant(store);
  await other.start({ url: 'https://other.example/', host: 'other.example', authority: 'other.example' });
  await relayAll(store);
  const untouched = await everythingOf(store, other);
  const name = (await store.findOrganization(organizationId))?.name ?? '';
  return { filled, other, untouched, ids: await idsOf(store, organizationId), name };
}

/** What an operator does who repeats the command until it ends. */
async function remove(store: Store, id: OrganizationId): Promise<void> {
  const [under] = await store.listOrganizationRemovals();
  if (under === undefined && (await store.beginOrganizationRemoval(id)) === null) return;
  await removeAll(store, id);
}

type End = 'cut before the removal' | 'cut in the removal' | 'not cut';

/** Cuts the store; where that was within the removal, the removal is gone on with on the reopened store, and its end checked. */
async function cutAndResume(harness: StoreHarness, fault: Fault): Promise<End> {
  const faulty = await harness.openFaulty(fault);
  let before: Before | null = null;
  let rejection: unknown = null;
  try {
    before = await prepare(faulty.store);
    await remove(faulty.store, before.filled.tenant.organizationId);
  } catch (error) {
    rejection = error;
  }
  const cut = faulty.wasCut();
  const reopened = await faulty.reopen();
  try {
    if (rejection !== null && !(cut && rejection instanceof Refusal && rejection.code === 'unavailable')) throw rejection;
    if (before === null) return 'cut before the removal';
    const { store } = reopened;
    const { filled, other, untouched, ids, name } = before;
    const { organizationId } = filled.tenant;
    await remove(store, organizationId);
    expect(await store.listOrganizationRemovals()).toEqual([]);
    expect(await store.findOrganization(organizationId)).toBeNull();
    expect(Object.values(await everythingOf(store, filled.tenant)).flat()).toEqual([]);
    expect(await naming(reopened, [name, filled.secret, 'done.example'])).toEqual([]);
    expect(await everythingOf(store, other)).toEqual(untouched);
    await expectForgotten(reopened, ids);
    return rejection === null ? 'not cut' : 'cut in the removal';
  } catch (error) {
    throw new Error(`cut after write ${fault.cutAfter}, its reply ${fault.reply}: ${error}`, { cause: error });
  } finally {
    await reopened.close();
  }
}

export function removalCrashTests(harness: StoreHarness): void {
  describe('the removal of an organization on a store that is cut', () => {
    test.each(['kept', 'lost'] as const)(
      'after any write of it, its reply %s, is gone on with to the same end',
      async (reply) => {
        let cuts = 0;
        for (let cutAfter = await firstWrite(harness, reply); ; cutAfter++) {
          const end = await cutAndResume(harness, { cutAfter, reply });
          if (end === 'not cut') break;
          if (end === 'cut in the removal') cuts++;
        }
        expect(cuts).toBeGreaterThan(7);
      },
      300_000,
    );
  });
}

/** The number of a write that is one of the first of the removal, found by halving: what comes before it are dozens. */
async function firstWrite(harness: StoreHarness, reply: Fault['reply']): Promise<number> {
  let [before, within] = [1, 256];
  while (within - before > 1) {
    const middle = (before + within) >> 1;
    if ((await cutAndResume(harness, { cutAfter: middle, reply })) === 'cut before the removal') before = middle;
    else within = middle;
  }
  return before;
}
