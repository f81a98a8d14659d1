import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, ConfigError } from '#config/config.ts';
import { SCOPES } from '#domain/account.ts';
import { DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID } from '#domain/ids.ts';
import { newSecret, storedSecretOf } from '#domain/key-secret.ts';
import type { AccountStore } from '#store/store.ts';
import { ensureDataDir } from './data-dir.ts';

/** What the person who started the service has to be told of the default key. */
export type KeyNews =
  /** The key was made now, and this is its secret: nobody else has been told. */
  | { readonly kind: 'made'; readonly secret: string }
  /** The key was made now, and its secret is in this file. */
  | { readonly kind: 'filed'; readonly path: string }
  /** The key was made now with the secret that the configuration gives, or has got it now in place of another. */
  | { readonly kind: 'configured' }
  /** The key is there, with the secret that it had. */
  | { readonly kind: 'known' };

export type FirstStartDeps = {
  readonly accounts: AccountStore;
  readonly config: Pick<Config, 'apiKey' | 'dataDir' | 'monthlyUrlQuota'>;
  /** Somebody reads what is printed; else the secret goes to a file. */
  readonly isTerminal: boolean;
  /** Whether a secret may be made when none is configured: not where nobody would find it, on one of many machines. */
  readonly makesSecret: boolean;
};

const ORGANIZATION_NAME = 'default';
/** In DATA_DIR. */
const KEY_FILE = 'api-key';
const SECRET = /^[\x21-\x7e]{24,256}$/;

/**
 * Makes the default organization and its first key where they are absent, and gives the key the secret that is configured. Of several
 * that do so at once, one makes the key, and only that one has news. Throws a `ConfigError` when there has to be a configured secret.
 */
export async function ensureDefaultAccount({ accounts, config, isTerminal, makesSecret }: FirstStartDeps): Promise<KeyNews> {
  const path = join(config.dataDir, KEY_FILE);
  const isFirst = (await accounts.findKey(DEFAULT_KEY_ID)) === null;
  if (isFirst && config.apiKey === null && !makesSecret)
    throw new ConfigError('the store is empty, and this role makes no API key of its own: set CRAWLGATE_API_KEY to the first one');
  const toFile = isFirst && config.apiKey === null && !isTerminal;
  // The file comes before the key: whenever this is cut, no key exists whose secret nobody has.
  const secret = config.apiKey ?? (toFile ? fileSecret(path) : newSecret());
  const { keyCreated } = await accounts.ensureDefaults(
    { id: DEFAULT_ORGANIZATION_ID, name: ORGANIZATION_NAME, monthlyUrlQuota: config.monthlyUrlQuota },
    { id: DEFAULT_KEY_ID, organizationId: DEFAULT_ORGANIZATION_ID, name: 'default', scopes: SCOPES, ...storedSecretOf(secret) },
  );
  if (config.apiKey !== null) {
    const changed = keyCreated || (await configureSecret(accounts, config.apiKey));
    if (changed) rmSync(path, { force: true });
    return { kind: changed ? 'configured' : 'known' };
  }
  if (!keyCreated) {
    // another process was faster; unless they share the file, what stands in it is no secret
    const holder = await accounts.findKeyBySecret(storedSecretOf(secret).secretHash);
    if (toFile && holder === null) rmSync(path, { force: true });
    return { kind: 'known' };
  }
  return toFile ? { kind: 'filed', path } : { kind: 'made', secret };
}

/** The secret that an earlier first start, which got no further, has left in the file; else a new one, written to it. */
function fileSecret(path: string): string {
  try {
    const left = readFileSync(path, 'utf8').trimEnd();
    if (SECRET.test(left)) {
      chmodSync(path, 0o600);
      return left;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const secret = newSecret();
  ensureDataDir(dirname(path));
  rmSync(path, { force: true });
  writeFileSync(path, `${secret}\n`, { mode: 0o600, flag: 'wx', flush: true });
  return secret;
}

/** Answers whether the default key has another secret than before. */
async function configureSecret(accounts: AccountStore, secret: string): Promise<boolean> {
  const stored = storedSecretOf(secret);
  const holder = await accounts.findKeyBySecret(stored.secretHash);
  if (holder?.id === DEFAULT_KEY_ID) return false;
  if (holder !== null)
    throw new Error(`CRAWLGATE_API_KEY is the secret of another key, ${holder.id}; the default key needs one of its own`);
  const rotated = await accounts.rotateKey(DEFAULT_KEY_ID, stored);
  if (rotated === null) throw new Error(`CRAWLGATE_API_KEY is set, but the default key ${DEFAULT_KEY_ID} was revoked; unset it to start`);
  return true;
}
