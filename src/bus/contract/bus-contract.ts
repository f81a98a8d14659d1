import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CrawlId, OrganizationId, SiteId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import { createLog, type Log } from '#telemetry.ts';
import type { Bus, Topic } from '../bus.ts';

/** What an adapter's test gives the contract suite. */
export type BusHarness = {
  open(log: Log): Promise<JoinedBuses>;
  /** Why nothing can get lost between both ends; without it `interrupt` is called. */
  readonly lossless?: string;
};

/** Two ends of one bus: two connections, two threads, or twice the same object. */
export type JoinedBuses = {
  readonly here: Bus;
  readonly there: Bus;
  /** Breaks what joins both and restores it; resolves when messages pass again. */
  interrupt(): Promise<void>;
  close(): Promise<void>;
};

export const snapshotOf = (changes: Partial<Snapshot> = {}): Snapshot => ({
  id: randomUUID() as CrawlId,
  organizationId: randomUUID() as OrganizationId,
  siteId: randomUUID() as SiteId,
  url: 'https://example.com/',
  host: 'example.com',
  authority: 'example.com',
  state: 'running',
  phase: 'fetching',
  endReason: null,
  error: null,
  maxUrls: 500,
  maxDepth: 3,
  counters: { discovered: 2, fetched: 1, redirected: 0, failed: 0, blocked: 0 },
  frontierTruncated: false,
  findingsCount: null,
  cancelRequested: false,
  startedAt: 1_795_000_000_000,
  finishedAt: null,
  version: 1,
  ...changes,
});

const crawlOf = ({ id }: Snapshot): Topic => ({ kind: 'crawl', id });
const organizationOf = ({ organizationId: id }: Snapshot): Topic => ({ kind: 'organization', id });
const QUEUED: Topic = { kind: 'queued' };

/** Resolves when what `from` published before has reached `to`: a last one of its own topic has. */
export async function settled(from: Bus, to: Bus): Promise<void> {
  const last = snapshotOf();
  const arrived = Promise.withResolvers<void>();
  const unsubscribe = await to.subscribe(crawlOf(last), () => arrived.resolve());
  await from.publish(last);
  await arrived.promise;
  unsubscribe();
}

/** What a listener of `topic` on `bus` has been told. */
export async function listen(bus: Bus, topic: Topic): Promise<{ told: Snapshot[]; stop: () => void }> {
  const told: Snapshot[] = [];
  const stop = await bus.subscribe(topic, (snapshot) => told.push(snapshot));
  return { told, stop };
}

/** Holds an adapter to the bus port, in both directions between two ends, and within each. */
export function busContract(name: string, { open, lossless }: BusHarness): void {
  const joined = (body: (buses: JoinedBuses, logged: string[]) => Promise<void>) => async () => {
    const logged: string[] = [];
    const buses = await open(createLog('error', { write: (line) => logged.push(line) }));
    try {
      await body(buses, logged);
    } finally {
      await buses.close();
    }
  };

  describe(`the bus port on ${name}`, () => {
    test(
      'tells the listeners of the crawl and of its organization at both ends, whole, and nobody else',
      joined(async ({ here, there }) => {
        const [snapshot, other] = [snapshotOf({ error: 'ü', version: 7 }), snapshotOf()];
        const hearing = await Promise.all([here, there].flatMap((end) => [crawlOf, organizationOf].map((of) => listen(end, of(snapshot)))));
        const deaf = await Promise.all([here, there].flatMap((end) => [listen(end, crawlOf(other)), listen(end, QUEUED)]));
        await there.publish(snapshot);
        await Promise.all([settled(there, here), settled(there, there)]);
        for (const { told } of hearing) expect(told).toEqual([snapshot]);
        for (const { told } of deaf) expect(told).toEqual([]);
      }),
    );

    test(
      'tells the queue of a crawl in phase queued, until it is final',
      joined(async ({ here, there }) => {
        const { told } = await listen(here, QUEUED);
        const waiting = snapshotOf({ phase: 'queued' });
        await there.publish(waiting);
        await there.publish(snapshotOf({ phase: 'fetching' }));
        await there.publish(snapshotOf({ phase: 'finished', state: 'failed' }));
        await settled(there, here);
        expect(told).toEqual([waiting]);
      }),
    );

    test(
      'keeps the order of each publisher',
      joined(async ({ here, there }) => {
        const crawl = snapshotOf();
        const { told } = await listen(here, crawlOf(crawl));
        for (let version = 1; version <= 200; version++) void there.publish({ ...crawl, version });
        await settled(there, here);
        expect(told.map(({ version }) => version)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
      }),
    );

    test(
      'tells every listener, one given twice twice, and each no more once it has stopped',
      joined(async ({ here, there }) => {
        const crawl = snapshotOf();
        const told: number[] = [];
        const listener = ({ version }: Snapshot) => told.push(version);
        const stopFirst = await here.subscribe(crawlOf(crawl), listener);
        const stopSecond = await here.subscribe(crawlOf(crawl), listener);
        await there.publish({ ...crawl, version: 1 });
        await settled(there, here);
        stopFirst();
        stopFirst();
        await there.publish({ ...crawl, version: 2 });
        await settled(there, here);
        stopSecond();
        await there.publish({ ...crawl, version: 3 });
        await settled(there, here);
        expect(told).toEqual([1, 1, 2]);
      }),
    );

    test(
      'calls no listener that another one has stopped during the same telling',
      joined(async ({ here, there }) => {
        const crawl = snapshotOf();
        const told: string[] = [];
        const stops: (() => void)[] = [];
        for (const [own, other] of [
          [0, 1],
          [1, 0],
        ] as const) {
          const listener = () => {
            told.push(`listener ${own}`);
            stops[other]?.();
          };
          stops.push(await here.subscribe(crawlOf(crawl), listener));
        }
        await there.publish(crawl);
        await settled(there, here);
        expect(told).toHaveLength(1);
      }),
    );

    test(
      'tells one that subscribes within a listener of what comes next',
      joined(async ({ here, there }) => {
        const crawl = snapshotOf();
        const told: number[] = [];
        const subscribed = Promise.withResolvers<unknown>();
        const stop = await here.subscribe(crawlOf(crawl), () => {
          subscribed.resolve(here.subscribe(crawlOf(crawl), ({ version }) => told.push(version)));
          stop();
        });
        await there.publish({ ...crawl, version: 1 });
        await subscribed.promise;
        await there.publish({ ...crawl, version: 2 });
        await settled(there, here);
        expect(told).toEqual([2]);
      }),
    );

    test(
      'logs what a listener throws, and tells the others all the same',
      joined(async ({ here, there }, logged) => {
        const crawl = snapshotOf();
        await here.subscribe(crawlOf(crawl), () => {
          throw new Error('a broken listener');
        });
        const { told } = await listen(here, crawlOf(crawl));
        await there.publish(crawl);
        await settled(there, here);
        expect(told).toEqual([crawl]);
        expect(logged.filter((line) => line.includes('a broken listener'))).toHaveLength(1);
      }),
    );

    test(
      'delivers what was published before it was closed',
      joined(async ({ here, there }) => {
        const crawl = snapshotOf();
        const arrived = Promise.withResolvers<void>();
        await here.subscribe(crawlOf(crawl), ({ version }) => version === 50 && arrived.resolve());
        for (let version = 1; version <= 50; version++) await there.publish({ ...crawl, version });
        await there.close();
        await arrived.promise;
      }),
    );

    test(
      'calls no listener once it is closed, refuses no publication, and closes once',
      joined(async ({ here, there }) => {
        const crawl = snapshotOf();
        const { told } = await listen(here, crawlOf(crawl));
        await Promise.all([here.close(), here.close()]);
        await there.publish(crawl);
        await here.publish(crawl);
        await Promise.all([here.close(), there.close()]);
        expect(told).toEqual([]);
      }),
    );

    const gapTest = lossless === undefined ? test : test.skip;
    gapTest(
      `tells of a gap once what was interrupted is restored, and then goes on${lossless === undefined ? '' : ` (${lossless})`}`,
      joined(async ({ here, there, interrupt }) => {
        const crawl = snapshotOf();
        const { told } = await listen(here, crawlOf(crawl));
        const gap = Promise.withResolvers<void>();
        let stoppedToo = false;
        const stop = here.onGap(() => {
          stoppedToo = true;
        });
        here.onGap(() => gap.resolve());
        stop();
        await interrupt();
        await gap.promise;
        await there.publish(crawl);
        await settled(there, here);
        expect(told).toEqual([crawl]);
        expect(stoppedToo).toBe(false);
      }),
    );
  });
}
