import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readStoreUrl, type StoreLocation, Wrong } from '#config/values.ts';

/** A store URL that names none. The message is the end of a sentence and shows nothing of the URL, which may carry a password. */
export class WrongStoreUrl extends Error {
  override readonly name = 'WrongStoreUrl';
}

/** Where a store is. `label` is its URL without credentials and options, fit to be shown; equal labels are one store. */
export type StorePlace = StoreLocation & { readonly label: string };

/** Scheme, hosts and database of a connection string, with credentials before and options after them. */
const MONGODB = /^(mongodb(?:\+srv)?):\/\/(?:[^@/?]*@)?([^@/?]+)(?:\/([^/?]*))?(?:\?.*)?$/;
const DEFAULT_DATABASE = 'crawlgate';
const DEFAULT_PORT = ':27017';

/** Throws `WrongStoreUrl`. */
export function readStorePlace(text: string): StorePlace {
  const location = locationOf(text);
  return { ...location, label: location.kind === 'sqlite' ? `sqlite:${realPathOf(location.path)}` : labelOf(location.url) };
}

function locationOf(text: string): StoreLocation {
  try {
    return readStoreUrl(text);
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    throw new WrongStoreUrl(`${error.message}; accepted: sqlite:<path> or mongodb://<hosts>/<database>`);
  }
}

function labelOf(url: string): string {
  const [, scheme = '', hosts = '', database = ''] = MONGODB.exec(url) ?? [];
  const named = hosts
    .toLowerCase()
    .split(',')
    .map((host) => (scheme === 'mongodb' && !/:\d+$/.test(host) ? host + DEFAULT_PORT : host));
  return `${scheme}://${named.sort().join(',')}/${database || DEFAULT_DATABASE}`;
}

/** Without links on the way, as far as it exists. */
function realPathOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const directory = dirname(path);
  return directory === path ? path : join(realPathOf(directory), basename(path));
}
