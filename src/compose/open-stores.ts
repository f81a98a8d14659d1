import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { DEFAULT_MONGO_SETTINGS, openMongoStore, WrongMongoUrl } from '#store/mongo/open.ts';
import { openSqliteBeside } from '#store/sqlite/beside.ts';
import { lockData } from '#store/sqlite/data-lock.ts';
import { makeDirectory } from '#store/sqlite/make-directory.ts';
import type { Store } from '#store/store.ts';
import { createLog } from '#telemetry.ts';
import { type StorePlace, WrongStoreUrl } from './store-place.ts';

export type OpenStores = {
  readonly from: Store;
  readonly to: Store;
  close(): Promise<void>;
};

/** A batch of pages is more than a request of a client: a slow server has longer to answer. */
const MONGO_SETTINGS = { ...DEFAULT_MONGO_SETTINGS, answerTimeoutMs: 60_000 };

/**
 * Opens two stores for this process alone, the first of which must exist: the directory of a SQLite store is locked against servers;
 * on MongoDB there must be no live lease. Throws a `WrongStoreUrl` for an option that there is not, an `Error` when a store cannot be
 * opened or a server runs on it: one line, with nothing left open.
 */
export async function openStores(from: StorePlace, to: StorePlace): Promise<OpenStores> {
  const closing: (() => Promise<void> | void)[] = [];
  const locked = new Set<string>();
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };

  async function openFile(path: string, create: boolean): Promise<Store> {
    if (!create && !existsSync(path)) throw new Error('there is no such database');
    const directory = dirname(path);
    makeDirectory(directory);
    // Both stores may lie in one directory.
    if (!locked.has(realpathSync(directory))) closing.push(lockData(path));
    locked.add(realpathSync(directory));
    return openSqliteBeside({ path });
  }
  async function open(place: StorePlace, create: boolean): Promise<Store> {
    try {
      const store =
        place.kind === 'sqlite'
          ? await openFile(place.path, create)
          : await openMongoStore({ url: place.url, log: createLog('silent', { write() {} }), settings: MONGO_SETTINGS });
      closing.push(store.close);
      if (place.kind === 'mongodb' && (await store.countLiveLeases()) > 0)
        throw new Error(
          'a worker is running crawls there: stop every server on it; the leases of one that was killed end within LEASE_SECONDS',
        );
      return store;
    } catch (error) {
      const told = `${place.label}: ${error instanceof Error ? error.message : String(error)}`;
      throw error instanceof WrongMongoUrl ? new WrongStoreUrl(told) : new Error(told, { cause: error });
    }
  }

  try {
    return { from: await open(from, false), to: await open(to, true), close };
  } catch (error) {
    await close();
    throw error;
  }
}
