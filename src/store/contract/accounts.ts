import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID, type KeyId, type OrganizationId } from '#domain/ids.ts';
import type { StoreHarness } from './harness.ts';
import { hashOf, inWorld, newKey, nextMoment } from './world.ts';

const newOrganization = (name: string, monthlyUrlQuota = 100) => ({ id: randomUUID() as OrganizationId, name, monthlyUrlQuota });
const DEFAULTS = { id: DEFAULT_ORGANIZATION_ID, name: 'default', monthlyUrlQuota: 1_000 };
const defaultKey = (secret: string) => ({ ...newKey(DEFAULT_ORGANIZATION_ID, secret), id: DEFAULT_KEY_ID });

export function accountTests(harness: StoreHarness): void {
  describe('organizations', () => {
    test(
      'and keys of the first start are made once: the first secret stays',
      inWorld(harness, async ({ store }) => {
        expect(await store.ensureDefaults(DEFAULTS, defaultKey('first'))).toEqual({ keyCreated: true });
        expect(await store.ensureDefaults({ ...DEFAULTS, monthlyUrlQuota: 5 }, defaultKey('second'))).toEqual({ keyCreated: false });
        expect(await store.findKeyBySecret(hashOf('first'))).toMatchObject({ id: DEFAULT_KEY_ID });
        expect(await store.findKeyBySecret(hashOf('second'))).toBeNull();
        expect(await store.findOrganization('default')).toMatchObject({ id: DEFAULT_ORGANIZATION_ID, monthlyUrlQuota: 1_000 });
      }),
    );

    test(
      'of twenty racing first starts are made once, and one caller alone is told that the key is its',
      inWorld(harness, async ({ store }) => {
        const secrets = Array.from({ length: 20 }, (_, index) => `secret ${index}`);
        const answers = await Promise.all(secrets.map((secret) => store.ensureDefaults(DEFAULTS, defaultKey(secret))));
        const winners = secrets.filter((_, index) => answers[index]?.keyCreated);
        expect(winners).toHaveLength(1);
        expect(await store.findKeyBySecret(hashOf(winners[0] ?? ''))).toMatchObject({ id: DEFAULT_KEY_ID });
        expect(await store.listKeys(DEFAULT_ORGANIZATION_ID)).toHaveLength(1);
      }),
    );

    test(
      'have a name each, are found by it or by id, and are listed by it',
      inWorld(harness, async ({ store }) => {
        const before = await store.now();
        const beta = newOrganization('beta', 7);
        const created = await store.createOrganization(beta);
        expect(created).toEqual({ ...beta, createdAt: expect.any(Number) });
        if (created === 'taken') throw new Error('unreachable');
        expect(created.createdAt).toBeGreaterThanOrEqual(before);
        expect(await store.createOrganization(beta)).toEqual(created);
        expect(await store.createOrganization(newOrganization('beta'))).toBe('taken');
        await store.createOrganization(newOrganization('gamma'));
        await store.createOrganization(newOrganization('alpha'));
        expect((await store.listOrganizations()).map((each) => each.name)).toEqual(['alpha', 'beta', 'gamma']);
        expect(await store.findOrganization('beta')).toEqual(created);
        expect(await store.findOrganization(beta.id)).toEqual(created);
        expect(await store.findOrganization('delta')).toBeNull();
        expect(await store.findOrganization(randomUUID())).toBeNull();
      }),
    );

    test(
      'that race for a name get it once',
      inWorld(harness, async ({ store }) => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => store.createOrganization(newOrganization('same'))));
        expect(answers.filter((answer) => answer !== 'taken')).toHaveLength(1);
        expect(await store.listOrganizations()).toHaveLength(1);
      }),
    );

    test(
      'are given another quota, which the current month shows; null for one that does not exist',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId } = await tenant(10);
        await store.getUsage(organizationId);
        expect(await store.setMonthlyUrlQuota(organizationId, 25)).toMatchObject({ id: organizationId, monthlyUrlQuota: 25 });
        expect(await store.getUsage(organizationId)).toMatchObject({ limit: 25, remaining: 25 });
        expect(await store.setMonthlyUrlQuota(randomUUID() as OrganizationId, 25)).toBeNull();
      }),
    );
  });

  describe('API keys', () => {
    test(
      'are stored without their secret and found by id and by its hash',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId } = await tenant();
        const key = { ...newKey(organizationId, 'cg_secret'), name: 'ci', scopes: ['crawls:read', 'metrics'] as const };
        const { secretHash, ...rest } = key;
        const created = await store.createKey(key);
        expect(created).toEqual({ ...rest, createdAt: expect.any(Number), revokedAt: null });
        expect(await store.createKey(key)).toEqual(created);
        expect(await store.findKey(key.id)).toEqual(created);
        expect(await store.findKeyBySecret(secretHash)).toEqual(created);
        expect(await store.findKeyBySecret(hashOf('another'))).toBeNull();
        expect(await store.findKey(randomUUID() as KeyId)).toBeNull();
      }),
    );

    test(
      'are listed oldest first, revoked ones included, and those of others not',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId, keyId } = await tenant();
        await tenant();
        const ids: string[] = [keyId];
        for (let index = 0; index < 4; index++) {
          await nextMoment(store);
          ids.push((await store.createKey(newKey(organizationId))).id);
        }
        await store.revokeKey(ids[2] as KeyId);
        const listed = await store.listKeys(organizationId);
        expect(listed.map((key) => key.id)).toEqual(ids);
        expect(listed.map((key) => key.revokedAt !== null)).toEqual([false, false, true, false, false]);
      }),
    );

    test(
      'that are revoked are refused from then on, and keep the time of it',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId } = await tenant();
        const key = newKey(organizationId, 'secret');
        await store.createKey(key);
        const revoked = await store.revokeKey(key.id);
        expect(revoked?.revokedAt).toBeLessThanOrEqual(await store.now());
        expect(await store.findKeyBySecret(key.secretHash)).toBeNull();
        expect(await store.findKey(key.id)).toEqual(revoked);
        await nextMoment(store);
        expect(await store.revokeKey(key.id)).toEqual(revoked);
        expect(await store.rotateKey(key.id, { secretHash: hashOf('new'), prefix: 'new' })).toBeNull();
        expect(await store.findKeyBySecret(hashOf('new'))).toBeNull();
        expect(await store.revokeKey(randomUUID() as KeyId)).toBeNull();
      }),
    );

    test(
      'that are rotated are found by the new secret only',
      inWorld(harness, async ({ store, tenant }) => {
        const { organizationId } = await tenant();
        const created = await store.createKey(newKey(organizationId, 'old secret'));
        const rotated = await store.rotateKey(created.id, { secretHash: hashOf('new secret'), prefix: 'new secr' });
        expect(rotated).toEqual({ ...created, prefix: 'new secr' });
        expect(await store.findKeyBySecret(hashOf('old secret'))).toBeNull();
        expect(await store.findKeyBySecret(hashOf('new secret'))).toEqual(rotated);
        expect(await store.rotateKey(randomUUID() as KeyId, { secretHash: hashOf('x'), prefix: 'x' })).toBeNull();
      }),
    );
  });
}
