import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocalBus } from '#bus/local.ts';
import type { Caller } from '#domain/account.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { OpenStore } from '#store/contract/harness.ts';
import { createTenant } from '#store/contract/world.ts';
import { silent, sqliteHarness } from '#store/sqlite/fixtures/harness.ts';
import { systemTimers } from '#worker/timers.ts';
import { createService, type Service } from './service.ts';

let opened: OpenStore;
let service: Service;
const bus = createLocalBus({ log: silent });
beforeAll(async () => {
  opened = await sqliteHarness.open();
  service = createService({
    store: opened.store,
    bus,
    describeRule: () => null,
    allowedNetworks: [],
    readLimitPerMinute: 0,
    timers: systemTimers,
    log: silent,
  });
});
afterAll(async () => {
  await bus.close();
  await opened.close();
});

async function newCaller(scopes: Caller['scopes'] = ['crawls:read', 'crawls:write']): Promise<Caller> {
  const { organizationId, keyId } = await createTenant(opened.store);
  return { organizationId, keyId, scopes, secretHash: 'not looked up' };
}
const START = { url: 'https://example.com/' };

describe('the use cases, without HTTP', () => {
  it('a start is stored before it is published, and a replay is not published again', async () => {
    const caller = await newCaller();
    const heard: Promise<Snapshot | null>[] = [];
    await bus.subscribe({ kind: 'organization', id: caller.organizationId }, ({ id }) => {
      heard.push(opened.store.getCrawl(caller.organizationId, id));
    });
    const first = await service.startCrawl({ ...START, idempotencyKey: 'k' }, caller);
    const replay = await service.startCrawl({ ...START, maxUrls: 500, idempotencyKey: 'k' }, caller); // the default, written out
    expect(replay.snapshot.id).toBe(first.snapshot.id);
    expect(await Promise.all(heard)).toStrictEqual([first.snapshot]);
  });

  it('a start refuses numbers that REST would not let through', async () => {
    const caller = await newCaller();
    for (const [input, pointers] of [
      [{ ...START, maxUrls: 0 }, ['/maxUrls']],
      [{ ...START, maxUrls: 1.5, maxDepth: -1 }, ['/maxUrls', '/maxDepth']],
      [{ url: 'x', maxDepth: Number.NaN }, ['/url', '/maxDepth']],
    ] as const) {
      const errors = pointers.map((pointer) => ({ pointer, detail: expect.any(String) }));
      await expect(service.startCrawl(input, caller)).rejects.toMatchObject({ code: 'invalid_request', facts: { errors } });
    }
  });

  it('every use case refuses a caller without its scope', async () => {
    const id = randomUUID() as string as CrawlId;
    const reader = await newCaller(['crawls:read']);
    const writer = await newCaller(['crawls:write']);
    const refused = [
      service.startCrawl(START, reader),
      service.cancelCrawl(id, reader),
      service.deleteCrawl(id, reader),
      service.getCrawl(id, writer),
      service.listCrawls({}, writer),
      service.listPages(id, {}, writer),
      service.listFindings(id, {}, writer),
      service.listSites({}, writer),
      service.getUsage(writer),
    ];
    for (const call of refused) await expect(call).rejects.toMatchObject({ code: 'insufficient_scope' });
  });

  it('a caller whose organization was removed since it was admitted is told that its key is good no more', async () => {
    const caller = await newCaller();
    await service.startCrawl(START, caller);
    await opened.store.beginOrganizationRemoval(caller.organizationId);
    await expect(service.startCrawl(START, caller)).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(service.getUsage(caller)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  it('a list ends with null exactly at its end, whether or not the last part is full', async () => {
    const caller = await newCaller();
    for (let i = 0; i < 4; i++) await service.startCrawl(START, caller);
    const lengths = async (limit: number) => {
      const found: number[] = [];
      let cursor: string | undefined;
      for (;;) {
        const { items, nextCursor } = await service.listCrawls({ limit, cursor }, caller);
        found.push(items.length);
        if (nextCursor === null) return found;
        cursor = nextCursor;
      }
    };
    expect(await lengths(2)).toStrictEqual([2, 2]);
    expect(await lengths(3)).toStrictEqual([3, 1]);
    expect(await lengths(1_000)).toStrictEqual([4]);
  });
});
