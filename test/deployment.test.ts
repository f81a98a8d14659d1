import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import dockerignore from '@balena/dockerignore';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { CONFIG_TABLE } from '../src/config/config.ts';
import { page, startSite } from './fixtures/site.ts';
import { apiOf, isFinal, keyOf, startServer, tempDataDir } from './server-process.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

type ComposeService = {
  readonly image?: string;
  readonly build?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly stop_grace_period?: string;
};
const compose = parse(readText('docker-compose.yml'), { merge: true }) as { readonly services: Readonly<Record<string, ComposeService>> };

/** Each line of the Dockerfile that has this instruction, its continuation lines joined, without the instruction. */
const instructions = (name: string): string[] =>
  readText('Dockerfile')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.startsWith(`${name} `))
    .map((line) => line.slice(name.length + 1).trim());

describe('docker-compose.yml', () => {
  it('pins every image that it does not build', () => {
    const images = Object.values(compose.services).flatMap(({ build, image }) => (build === undefined ? [image] : []));
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(image).toMatch(/:\d+\.\d+\.\d+(-[\w.]+)?$/);
  });

  it('names the image that it builds by the version', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    for (const name of ['gateway', 'worker']) expect(compose.services[name]?.image).toBe(`crawlgate:${version}`);
  });

  it('sets variables that there are', () => {
    const known = new Set(CONFIG_TABLE.map(({ name }) => name));
    const set = ['gateway', 'worker'].flatMap((name) => Object.keys(compose.services[name]?.environment ?? {}));
    expect(set).toContain('STORE_URL');
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(['gateway', 'worker'])('lets a %s write where the image says that it does, and stop in its own time', (name) => {
    const { read_only, tmpfs = [], stop_grace_period = '' } = compose.services[name] ?? {};
    expect(read_only).toBe(true);
    const written = dockerEnvironment().flatMap(([variable, value]) => (/_(DIR|CACHE)$/.test(variable) ? [value] : []));
    expect(written).toHaveLength(2);
    for (const path of written) expect(tmpfs.some((place) => path === place || path.startsWith(`${place}/`))).toBe(true);
    expect(Number.parseInt(stop_grace_period, 10)).toBeGreaterThan(10);
  });
});

/** The instruction ENV as pairs. */
const dockerEnvironment = (): [string, string][] =>
  instructions('ENV').flatMap((line) =>
    line.split(/\s+/).map((pair): [string, string] => {
      const [name = '', value = ''] = pair.split('=');
      return [name, value];
    }),
  );

describe('the Dockerfile', () => {
  it('builds on the version of Node that the tests run on, in every stage', () => {
    const { devDependencies } = JSON.parse(readText('package.json')) as { devDependencies: Record<string, string> };
    const version = devDependencies.node?.replace(/^\D*/, '');
    const images = instructions('FROM').map((from) => from.split(' ')[0]);
    expect(images).toEqual(images.map(() => `node:${version}-bookworm-slim`));
  });

  it('sets variables that there are', () => {
    const known = new Set([...CONFIG_TABLE.map(({ name }) => name), 'NODE_ENV', 'NODE_COMPILE_CACHE']);
    const set = dockerEnvironment().map(([name]) => name);
    expect(set).toContain('DATA_DIR');
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });

  it('takes what a crawl needs, no development dependency, and writes nothing beside it', async () => {
    const site = await startSite({ '/': page('Home', ['/gone']) });
    onTestFinished(site.close);
    using parent = tempDataDir();
    const app = join(parent.path, '..', 'app');
    const context = dockerignore().add(readText('.dockerignore')).filter(filesOf(ROOT));
    for (const path of context) cpSync(join(ROOT, path), join(app, path), { recursive: true });
    const [install = ''] = instructions('RUN');
    execFileSync('sh', ['-c', install.replace(/ && npm cache.*/, '')], { cwd: app, stdio: 'pipe' });
    const [entry = '[]'] = instructions('ENTRYPOINT');
    const [, ...words] = JSON.parse(entry) as string[];
    const command = ['sh', '-c', `cd '${app}' && exec '${process.execPath}' ${words.join(' ')} serve`];
    const installed = timesOf(app);
    // as the container sets it: what Node compiles is kept where it may write
    const cache = join(parent.path, '..', 'cache');
    await using server = await startServer(parent.path, { NODE_COMPILE_CACHE: cache }, command);
    const api = apiOf(server.url, keyOf(parent.path));
    const id = await api.start({ url: `${site.origin}/` });
    expect(await api.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 2 });
    server.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    // the container's root is read-only: nothing may be written beside DATA_DIR and the temporary directory
    expect(timesOf(app)).toEqual(installed);
    expect(readdirSync(cache).length).toBeGreaterThan(0);
    expect(() => statSync(join(app, 'node_modules/vitest'))).toThrow('ENOENT');
    expect(() => statSync(join(app, 'test'))).toThrow('ENOENT');
  }, 180_000);
});

/** When each file and directory below was last changed. */
const timesOf = (root: string): [string, number][] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((path) => [path, statSync(join(root, path)).mtimeMs]);

/** The files of a checkout, packages and what git keeps left out. */
function filesOf(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((path) => !/^(\.git|node_modules|data)\//.test(path));
}
