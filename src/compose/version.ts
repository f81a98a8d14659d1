import { readFileSync } from 'node:fs';

/** The version that package.json tells. */
export function readVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  return version;
}
