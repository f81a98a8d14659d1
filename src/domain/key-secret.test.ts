import { describe, expect, test } from 'vitest';
import { hashOfSecret, newSecret, storedSecretOf } from './key-secret.ts';

describe('the secret of a key', () => {
  test('is of 256 random bits, another one each time', () => {
    const secrets = Array.from({ length: 100 }, newSecret);
    expect(new Set(secrets).size).toBe(100);
    for (const secret of secrets) expect(secret).toMatch(/^cg_[\w-]{43}$/);
  });

  test('is stored as its SHA-256 and too few characters to guess the rest from', () => {
    // the digest of "abc" as FIPS 180-2 gives it
    expect(hashOfSecret('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    const secret = newSecret();
    const { secretHash, prefix, ...rest } = storedSecretOf(secret);
    expect(secretHash).toBe(hashOfSecret(secret));
    expect(prefix).toBe(secret.slice(0, 7));
    expect(rest).toEqual({});
  });
});
