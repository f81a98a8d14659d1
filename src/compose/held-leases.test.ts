import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import { claimNext, createTenant } from '#store/contract/world.ts';
import { mongoHarness } from '#store/mongo/fixtures/harness.ts';
import { withServer } from '#store/mongo/fixtures/with-server.ts';
import type { Store } from '#store/store.ts';
import { createHeldLeases, noteLeases } from './held-leases.ts';

const HOUR_MS = 3_600_000;

withServer('the leases of a crawler thread that has died', (url, admin) => {
  type World = { readonly store: Store; readonly thread: Store; readonly lose: () => Promise<void> };

  /** A store, the same as a thread uses it, and what its host does after the thread has died. */
  async function inWorld(body: (world: World) => Promise<void>): Promise<void> {
    const { store, close } = await mongoHarness(url, admin).open();
    const { port1, port2 } = new MessageChannel();
    const leases = createHeldLeases(store);
    leases.follow(port1);
    try {
      const lose = (): Promise<void> => {
        port2.close();
        return leases.expire();
      };
      await body({ store, thread: noteLeases(store, port2), lose });
    } finally {
      port2.close();
      await close();
    }
  }

  const lossesOf = async (store: Store, id: CrawlId, token: LeaseToken): Promise<boolean> =>
    (await store.heartbeat(id, token, HOUR_MS)) === 'lost';

  test('expire at once, those of other processes do not', () =>
    inWorld(async ({ store, thread, lose }) => {
      const tenant = await createTenant(store);
      await tenant.start();
      await tenant.start();
      const own = await claimNext(thread, HOUR_MS);
      const others = await claimNext(store, HOUR_MS);
      await lose();
      await store.reapLeases();
      expect(await lossesOf(store, own.snapshot.id, own.token)).toBe(true);
      expect(await lossesOf(store, others.snapshot.id, others.token)).toBe(false);
      expect((await claimNext(store, HOUR_MS)).snapshot.id).toBe(own.snapshot.id);
    }));

  test('count as losses, so that a crawl that kills its threads is given up', () =>
    inWorld(async ({ store }) => {
      const tenant = await createTenant(store);
      const { id } = await tenant.start();
      for (let loss = 0; loss < 5; loss++) {
        const { port1, port2 } = new MessageChannel();
        const leases = createHeldLeases(store);
        leases.follow(port1);
        await claimNext(noteLeases(store, port2), HOUR_MS);
        port2.close();
        await leases.expire();
        await store.reapLeases();
      }
      expect(await store.getCrawl(tenant.organizationId, id)).toMatchObject({ endReason: 'worker_lost' });
    }));

  test('are those that it held when it died: not one that it had given back', () =>
    inWorld(async ({ store, thread, lose }) => {
      const tenant = await createTenant(store);
      const { id } = await tenant.start();
      const first = await claimNext(thread, HOUR_MS);
      await thread.release(id, first.token);
      // under the same token again, by another: what the dead one has told of it is of no weight
      await store.claim(first.token, HOUR_MS);
      await lose();
      await store.reapLeases();
      expect(await lossesOf(store, id, first.token)).toBe(false);
    }));
});
