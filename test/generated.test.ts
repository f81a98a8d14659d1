import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { GENERATED } from '../scripts/generated.ts';

describe('generated files', () => {
  it.each(Object.entries(GENERATED))('%s is what the code prints now; else run `npm run generate`', (path, print) => {
    expect(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')).toBe(print());
  });
});
