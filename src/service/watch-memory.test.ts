import { describe, expect, it } from 'vitest';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { heapUsed, untilFlat } from './fixtures/heap.ts';
import { inWatchWorld } from './fixtures/watch-world.ts';

const UPDATES = 100_000;
const updateOf = (snapshot: Snapshot, version: number): Snapshot => ({ ...snapshot, version, counters: { ...snapshot.counters } });

describe('a watcher that never reads', () => {
  it(
    `of a crawl keeps one snapshot while ${UPDATES} pass: the last one`,
    inWatchWorld(async ({ hub, bus, caller, start }) => {
      const snapshot = await start();
      const watches = await Promise.all([hub.watchCrawl(snapshot.id, caller), hub.watchCrawl(snapshot.id, caller)]);
      const before = heapUsed();
      for (let n = 1; n <= UPDATES; n++) await bus.publish(updateOf(snapshot, snapshot.version + n));
      await untilFlat(before);
      for (const watch of watches) expect(await watch.next()).toMatchObject({ value: { version: snapshot.version + UPDATES } });
    }),
  );

  it(
    `of an organization keeps one snapshot a crawl while ${UPDATES} pass`,
    inWatchWorld(async ({ hub, bus, caller, start }) => {
      const crawls = await Promise.all(Array.from({ length: 100 }, () => start()));
      const watch = await hub.watchOrganization(caller);
      const before = heapUsed();
      for (let n = 0; n < UPDATES; n++) {
        const crawl = crawls[n % crawls.length] as Snapshot;
        await bus.publish(updateOf(crawl, crawl.version + 1 + n));
      }
      await untilFlat(before);
      const given = new Set<string>();
      for (let n = 0; n < crawls.length; n++) {
        const { value } = await watch.next();
        given.add(value?.id ?? 'none');
        expect(value?.version).toBeGreaterThan(UPDATES - crawls.length);
      }
      expect(given.size).toBe(crawls.length);
    }),
  );

  it(
    'of an organization is told to begin anew when 10,000 crawls wait for it, and its siblings go on',
    inWatchWorld(async ({ hub, bus, caller, start }) => {
      const snapshot = await start();
      const [idle, reader] = [await hub.watchOrganization(caller), await hub.watchOrganization(caller)];
      let read = 0;
      for (let n = 0; n < 10_001; n++) {
        const pulled = reader.next();
        await bus.publish({ ...snapshot, id: crypto.randomUUID() as string as CrawlId });
        await pulled;
        read++;
      }
      await expect(idle.next()).rejects.toMatchObject({ code: 'unavailable' });
      expect(read).toBe(10_001);
    }),
  );
});
