import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenStore } from '#store/contract/harness.ts';
import { createTenant, hashOf, newKey } from '#store/contract/world.ts';
import { sqliteHarness } from '#store/sqlite/fixtures/harness.ts';
import { type Authenticate, createAuthenticate } from './authenticate.ts';

let opened: OpenStore;
let clock: number;
let lookUps: string[];
let authenticate: Authenticate;
beforeEach(async () => {
  opened = await sqliteHarness.open();
  clock = 0;
  lookUps = [];
  const counted = {
    findKeyBySecret(secretHash: string) {
      lookUps.push(secretHash);
      return opened.store.findKeyBySecret(secretHash);
    },
  };
  authenticate = createAuthenticate({ store: counted, now: () => clock });
});
afterEach(() => opened.close());

async function keyWith(secret: string) {
  const { organizationId } = await createTenant(opened.store);
  return opened.store.createKey(newKey(organizationId, secret));
}

describe('authenticate', () => {
  it("answers the key's organization, id and scopes, and looks the secret up by its SHA-256", async () => {
    const key = await keyWith('secret');
    const { organizationId, id: keyId, scopes } = key;
    expect(await authenticate('secret')).toStrictEqual({ organizationId, keyId, scopes, secretHash: hashOf('secret') });
    expect(lookUps).toStrictEqual([hashOf('secret')]);
  });

  it('shares one look-up among concurrent callers of one secret', async () => {
    await keyWith('secret');
    await Promise.all(Array.from({ length: 20 }, () => authenticate('secret')));
    expect(lookUps).toHaveLength(1);
  });

  it('refuses an unknown secret, and remembers that for less than a second', async () => {
    await expect(authenticate('secret')).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(authenticate('secret')).rejects.toMatchObject({ code: 'unauthorized' });
    expect(lookUps).toHaveLength(1);
    await keyWith('secret');
    clock = 999;
    await expect(authenticate('secret')).resolves.toBeDefined();
  });

  it('refuses a revoked key within a second, and the old secret of a rotated one', async () => {
    const revoked = await keyWith('revoked');
    const rotated = await keyWith('rotated');
    await authenticate('revoked');
    await authenticate('rotated');
    await opened.store.revokeKey(revoked.id);
    await opened.store.rotateKey(rotated.id, { secretHash: hashOf('new'), prefix: 'new' });
    clock = 999;
    await expect(authenticate('revoked')).rejects.toMatchObject({ code: 'unauthorized' });
    await expect(authenticate('rotated')).rejects.toMatchObject({ code: 'unauthorized' });
    expect(await authenticate('new')).toMatchObject({ keyId: rotated.id });
  });

  it('does not remember that the store did not answer', async () => {
    await opened.store.close();
    await expect(authenticate('secret')).rejects.toMatchObject({ code: 'unavailable' });
    await expect(authenticate('secret')).rejects.toMatchObject({ code: 'unavailable' });
    expect(lookUps).toHaveLength(2);
  });

  it('remembers a bounded number of secrets: the oldest go first', async () => {
    const guesses = Array.from({ length: 10_001 }, () => randomUUID());
    const answers = await Promise.allSettled(guesses.map((guess) => authenticate(guess)));
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true);
    const [first = '', second = ''] = guesses;
    lookUps = [];
    await authenticate(second).catch(() => {});
    expect(lookUps).toHaveLength(0);
    await authenticate(first).catch(() => {});
    expect(lookUps).toHaveLength(1);
  });
});
