import { configDocs } from '../src/cli/config-docs.ts';

/** Every file that is printed from code, by its path in the repository, and what it must contain. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  'docs/config.md': configDocs,
};
