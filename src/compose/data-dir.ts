import { accessSync, constants, mkdirSync, statSync } from 'node:fs';

/** Makes the directory, with mode 0700, where it is absent. Throws an `Error` that names DATA_DIR when it cannot be used. */
export function ensureDataDir(path: string): void {
  const refused = (why: string): Error => new Error(`DATA_DIR ${JSON.stringify(path)} cannot be used: ${why}`);
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw refused(error instanceof Error ? error.message : String(error));
  }
  if (!statSync(path).isDirectory()) throw refused('it is not a directory');
}
