import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DEFAULT_MONGO_SETTINGS, openMongoStore, WrongMongoUrl } from '#store/mongo/open.ts';
import { openSqliteBeside } from '#store/sqlite/beside.ts';
import { lockData } from '#store/sqlite/data-lock.ts';
import type { Store } from '#store/store.ts';
import { createLog } from '#telemetry.ts';

/** A store URL that names none. The message is the end of a sentence and shows nothing of the URL, which may carry a password. */
export class WrongStoreUrl extends Error {
  override readonly name = 'WrongStoreUrl';
}

/** Where a store is. `label` is its URL without credentials and options, fit to be shown; equal labels are one store. */
export type StorePlace = { readonly label: string } & (
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'mongo'; readonly url: string }
);

const ACCEPTED = 'accepted: sqlite:<path> or mongodb://<hosts>/<database>';
/** Scheme, hosts and database of a connection string, with credentials before and options after them. */
const MONGODB = /^(mongodb(?:\+srv)?):\/\/(?:[^@/?]*@)?([^@/?]+)(?:\/([^/?]*))?(?:\?.*)?$/;
const DEFAULT_DATABASE = 'crawlgate';
const DEFAULT_PORT = ':27017';

/** Throws `WrongStoreUrl`. */
export function readStorePlace(text: string): StorePlace {
  const path = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (path !== undefined) {
    if (path === ':memory:' || path.startsWith('//') || /[?\0]/.test(path))
      throw new WrongStoreUrl(`is not the path of a file; ${ACCEPTED}`);
    return { kind: 'sqlite', path: resolve(path), label: `sqlite:${realPathOf(resolve(path))}` };
  }
  const [, scheme, hosts = '', database = ''] = MONGODB.exec(text) ?? [];
  if (scheme === undefined) throw new WrongStoreUrl(`is not the URL of a store; ${ACCEPTED}`);
  const named = hosts
    .toLowerCase()
    .split(',')
    .map((host) => (scheme === 'mongodb' && !/:\d+$/.test(host) ? host + DEFAULT_PORT : host));
  return { kind: 'mongo', url: text, label: `${scheme}://${named.sort().join(',')}/${database || DEFAULT_DATABASE}` };
}

/** Without links on the way, as far as it exists. */
function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const directory = dirname(path);
  return directory === path ? path : join(realPathOf(directory), basename(path));
}

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
    mkdirSync(directory, { recursive: true, mode: 0o700 });
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
      if (place.kind === 'mongo' && (await store.countLiveLeases()) > 0)
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
