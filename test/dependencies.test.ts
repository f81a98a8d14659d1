import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const read = async (path: string) => JSON.parse(await readFile(new URL(`../${path}`, import.meta.url), 'utf8'));

it.each(['graphql', '@graphql-tools/utils', '@graphql-tools/executor'])('%s is installed once', async (name) => {
  const { packages } = await read('package-lock.json');
  const copies = Object.keys(packages).filter((path) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`));
  expect(copies).toEqual([`node_modules/${name}`]);
});

it('graphql-yoga asks for another @graphql-tools/utils than it is given: else the override is to go (docs/decisions.md)', async () => {
  const [{ overrides }, yoga] = await Promise.all([read('package.json'), read('node_modules/graphql-yoga/package.json')]);
  expect(yoga.dependencies['@graphql-tools/utils']).toMatch(/^\^11\./);
  expect(overrides['graphql-yoga']).toEqual({ '@graphql-tools/utils': '^12.1.0' });
});
