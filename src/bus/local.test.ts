import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import type { OrganizationId } from '#domain/ids.ts';
import { createLog, type Log } from '#telemetry.ts';
import { busContract, listen, settled, snapshotOf } from './contract/bus-contract.ts';
import { createLocalBus, type LocalBus } from './local.ts';

const silent: Log = createLog('silent', { write() {} });

busContract('one local bus', {
  lossless: 'listeners of the same thread are called directly: nothing is between',
  async open(log) {
    const bus = createLocalBus({ log });
    return { here: bus, there: bus, interrupt: async () => {}, close: () => bus.close() };
  },
});

/** Joins both by a new channel; answers how to part them. */
function join(here: LocalBus, there: LocalBus): () => void {
  const { port1, port2 } = new MessageChannel();
  there.attach(port2);
  return here.attach(port1);
}

busContract('two local buses joined by a port', {
  async open(log) {
    const [here, there] = [createLocalBus({ log }), createLocalBus({ log })];
    let part = join(here, there);
    return {
      here,
      there,
      async interrupt() {
        part();
        part = join(here, there);
      },
      async close() {
        await here.close();
        await there.close();
      },
    };
  },
});

async function startEcho(bus: LocalBus, organizationId: OrganizationId): Promise<Worker> {
  const { port1, port2 } = new MessageChannel();
  const thread = new Worker(new URL('./fixtures/echo-thread.ts', import.meta.url), {
    workerData: { port: port2, organizationId },
    transferList: [port2],
  });
  await once(thread, 'message');
  bus.attach(port1);
  return thread;
}

describe('a local bus joined with another thread', () => {
  test('carries snapshots there and back, in order', async () => {
    const bus = createLocalBus({ log: silent });
    const crawl = snapshotOf();
    const thread = await startEcho(bus, crawl.organizationId);
    const echoed: number[] = [];
    const last = Promise.withResolvers<void>();
    await bus.subscribe({ kind: 'crawl', id: crawl.id }, ({ version }) => {
      if (version % 2 === 1) return;
      echoed.push(version);
      if (version === 38) last.resolve();
    });
    for (let version = 1; version < 20; version += 2) await bus.publish({ ...crawl, version });
    await last.promise;
    expect(echoed).toEqual([2, 6, 10, 14, 18, 22, 26, 30, 34, 38]);
    await bus.close();
    await once(thread, 'exit');
  });

  test('goes on without a thread that has died, and tells of a gap when the next one is joined', async () => {
    const bus = createLocalBus({ log: silent });
    const crawl = snapshotOf();
    let gaps = 0;
    bus.onGap(() => gaps++);
    const first = await startEcho(bus, crawl.organizationId);
    expect(gaps).toBe(0);
    await first.terminate();
    const { told, stop } = await listen(bus, { kind: 'crawl', id: crawl.id });
    await bus.publish({ ...crawl, version: 2 });
    expect(told.map(({ version }) => version)).toEqual([2]);
    stop();
    const second = await startEcho(bus, crawl.organizationId);
    expect(gaps).toBe(1);
    const echoed = Promise.withResolvers<number>();
    await bus.subscribe({ kind: 'crawl', id: crawl.id }, ({ version }) => version === 6 && echoed.resolve(version));
    await bus.publish({ ...crawl, version: 3 });
    expect(await echoed.promise).toBe(6);
    await bus.close();
    await once(second, 'exit');
  });

  test('that is closed closes a port that is attached late, so that nothing keeps its thread', async () => {
    const bus = createLocalBus({ log: silent });
    await bus.close();
    const { port1, port2 } = new MessageChannel();
    const closed = once(port2, 'close');
    bus.attach(port1);
    await closed;
  });

  test('passes nothing on from one port to another: each thread is joined with each it should hear', async () => {
    const [hub, one, other] = [createLocalBus({ log: silent }), createLocalBus({ log: silent }), createLocalBus({ log: silent })];
    join(hub, one);
    join(hub, other);
    const crawl = snapshotOf();
    const { told } = await listen(other, { kind: 'crawl', id: crawl.id });
    await one.publish(crawl);
    await settled(one, hub);
    await settled(hub, other);
    expect(told).toEqual([]);
    await Promise.all([hub.close(), one.close(), other.close()]);
  });
});
