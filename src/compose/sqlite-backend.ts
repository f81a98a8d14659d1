import { MessageChannel } from 'node:worker_threads';
import { createLocalBus } from '#bus/local.ts';
import { openSqliteStore } from '#store/sqlite/open.ts';
import { type Backend, type BackendDeps, STOP_LIMITS } from './backend.ts';
import { ensureDataDir } from './data-dir.ts';

/** Everything in one process: a database file, its writing thread, and a bus across the threads. */
export async function openSqliteBackend({ config, log, shutdown }: BackendDeps, path: string): Promise<Backend> {
  ensureDataDir(config.dataDir);
  const sqlite = await openSqliteStore({ path, threadEntry: new URL('./store-thread.ts', import.meta.url), log });
  shutdown.add('store', STOP_LIMITS.store, sqlite.store.close);
  const bus = createLocalBus({ log });
  shutdown.add('bus', STOP_LIMITS.bus, bus.close);
  return {
    store: sqlite.store,
    openFront: async () => ({ bus }),
    linkThread() {
      const { port1, port2: busPort } = new MessageChannel();
      bus.attach(port1);
      const storePort = sqlite.link();
      return { link: { kind: 'sqlite', path, storePort, busPort }, transferList: [storePort, busPort] };
    },
    // nobody else holds leases in this file
    async loseThread() {
      for (const snapshot of await sqlite.expireLeases()) await bus.publish(snapshot);
    },
  };
}
