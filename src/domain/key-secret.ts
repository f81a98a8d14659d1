import { createHash, randomBytes } from 'node:crypto';

/** What is stored of a secret: its SHA-256 in lower-case hex, and its first characters to tell keys apart by. */
export type StoredSecret = { readonly secretHash: string; readonly prefix: string };

const PREFIX_LENGTH = 7;

/** A new secret: `cg_` and 32 random bytes in base64url. */
export const newSecret = (): string => `cg_${randomBytes(32).toString('base64url')}`;

export const hashOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export const storedSecretOf = (secret: string): StoredSecret => ({
  secretHash: hashOfSecret(secret),
  prefix: secret.slice(0, PREFIX_LENGTH),
});
