import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID, type KeyId } from '#domain/ids.ts';
import { hashOfSecret, storedSecretOf } from '#domain/key-secret.ts';
import { openSqliteBeside } from '#store/sqlite/beside.ts';
import type { Store } from '#store/store.ts';
import { ensureDefaultAccount, type KeyNews } from './first-start.ts';

const CHOSEN = 'chosen-by-the-operator-0123';

describe('the default account', () => {
  let dataDir: string;
  let store: Store;
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'crawlgate-first-start-'));
    store = await openSqliteBeside({ path: join(dataDir, 'crawlgate.db') });
  });
  afterEach(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true });
  });

  const start = (options: { apiKey?: string; isTerminal?: boolean; makesSecret?: boolean } = {}): Promise<KeyNews> =>
    ensureDefaultAccount({
      accounts: store,
      config: { apiKey: options.apiKey ?? null, dataDir, monthlyUrlQuota: 42 },
      isTerminal: options.isTerminal ?? false,
      makesSecret: options.makesSecret ?? true,
    });
  const keyFile = (): string => join(dataDir, 'api-key');
  const holderOf = async (secret: string): Promise<string | undefined> => (await store.findKeyBySecret(hashOfSecret(secret)))?.id;

  it('is made at the first start, with the quota of new organizations', async () => {
    await start();
    expect(await store.listOrganizations()).toMatchObject([{ id: DEFAULT_ORGANIZATION_ID, name: 'default', monthlyUrlQuota: 42 }]);
    expect(await holderOf(readFileSync(keyFile(), 'utf8').trim())).toBe(DEFAULT_KEY_ID);
  });

  it('tells the secret to a terminal, and keeps it nowhere', async () => {
    const news = await start({ isTerminal: true });
    expect(news.kind === 'made' && (await holderOf(news.secret))).toBe(DEFAULT_KEY_ID);
    expect(existsSync(keyFile())).toBe(false);
  });

  it('is left alone at a later start', async () => {
    await start();
    const secret = readFileSync(keyFile(), 'utf8');
    expect(await start()).toEqual({ kind: 'known' });
    expect(await start({ isTerminal: true })).toEqual({ kind: 'known' });
    expect(readFileSync(keyFile(), 'utf8')).toBe(secret);
  });

  it('takes the secret that a first start, which was cut before the key was made, has left in the file', async () => {
    writeFileSync(keyFile(), `${CHOSEN}\n`, { mode: 0o644 });
    expect(await start()).toEqual({ kind: 'filed', path: keyFile() });
    expect(await holderOf(CHOSEN)).toBe(DEFAULT_KEY_ID);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  it('replaces a file that a cut first start has left half written', async () => {
    writeFileSync(keyFile(), 'cg_half', { mode: 0o644 });
    await start();
    expect(await holderOf(readFileSync(keyFile(), 'utf8').trim())).toBe(DEFAULT_KEY_ID);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  it('gets the secret that is configured, at any start, and no stale file stays', async () => {
    await start();
    expect(await start({ apiKey: CHOSEN })).toEqual({ kind: 'configured' });
    expect(await holderOf(CHOSEN)).toBe(DEFAULT_KEY_ID);
    expect(existsSync(keyFile())).toBe(false);
    expect(await start({ apiKey: CHOSEN })).toEqual({ kind: 'known' });
  });

  it('is not made without a configured secret where nobody would find one, and is known there once it is made', async () => {
    await expect(start({ makesSecret: false })).rejects.toThrow('set CRAWLGATE_API_KEY');
    expect(await store.listOrganizations()).toEqual([]);
    expect(await start({ makesSecret: false, apiKey: CHOSEN })).toEqual({ kind: 'configured' });
    expect(await start({ makesSecret: false })).toEqual({ kind: 'known' });
  });

  it('is not given a secret that another key has', async () => {
    await start();
    const id = '11111111-2222-4333-8444-555555555555' as KeyId;
    await store.createKey({ id, organizationId: DEFAULT_ORGANIZATION_ID, name: 'other', scopes: [], ...storedSecretOf(CHOSEN) });
    await expect(start({ apiKey: CHOSEN })).rejects.toThrow(`CRAWLGATE_API_KEY is the secret of another key, ${id}`);
  });

  it('does not bring a revoked key back to life', async () => {
    await start();
    await store.revokeKey(DEFAULT_KEY_ID);
    await expect(start({ apiKey: CHOSEN })).rejects.toThrow('was revoked');
    expect(await holderOf(CHOSEN)).toBeUndefined();
  });
});
