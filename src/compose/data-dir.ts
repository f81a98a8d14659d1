import { accessSync, constants, statSync } from 'node:fs';
import { makeDirectory } from '#store/sqlite/make-directory.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOENT: 'no directory can be made there',
  ENOTDIR: 'a part of it is not a directory',
  ENOSPC: 'the disk is full',
};

/** Makes the directory, with mode 0700, where it is absent. Throws an `Error` that names DATA_DIR when it cannot be used. */
export function ensureDataDir(path: string): void {
  const refused = (why: string, cause?: unknown): Error => new Error(`DATA_DIR ${JSON.stringify(path)} cannot be used: ${why}`, { cause });
  try {
    makeDirectory(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw refused(PROBLEMS[code] ?? message, error);
  }
  if (!statSync(path).isDirectory()) throw refused('it is not a directory');
}
