import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory, and those above it, with mode 0700, where they are absent. Throws the system's error. Not by mkdir's own `recursive`:
 * where the system says that nothing is there of a place whose parent is there, as it does below /proc, Node asks again for ever.
 */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another was faster
  }
}
