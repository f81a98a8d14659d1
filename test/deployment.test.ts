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

type ComposeService = { readonly image?: string; readonly build?: string; readonly environment?: Readonly<Record<string, string>> };
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

  it('sets variables that there are', () => {
    const known = new Set(CONFIG_TABLE.map(({ name }) => name));
    const set = ['gateway', 'worker'].flatMap((name) => Object.keys(compose.services[name]?.environment ?? {}));
    expect(set).toContain('STORE_URL');
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe('the Dockerfile', () => {
  it('builds on the version of Node that the tests run on, in every stage', () => {
    const { devDependencies } = JSON.parse(readText('package.json')) as { devDependencies: Record<string, string> };
    const version = devDependencies.node?.replace(/^\D*/, '');
    const images = instructions('FROM').map((from) => from.split(' ')[0]);
    expect(images).toEqual(images.map(() => `node:${version}-bookworm-slim`));
  });

  it('sets variables that there are', () => {
    const known = new Set([...CONFIG_TABLE.map(({ name }) => name), 'NODE_ENV', 'NODE_COMPILE_CACHE']);
    const set = instructions('ENV').flatMap((line) => line.split(/\s+/).map((pair) => pair.split('=')[0] ?? ''));
    expect(set).toContain('DATA_DIR');
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });

  it('takes what a crawl needs, and no development dependency', async () => {
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
    await using server = await startServer(parent.path, {}, command);
    const api = apiOf(server.url, keyOf(parent.path));
    const id = await api.start({ url: `${site.origin}/` });
    expect(await api.until(id, isFinal)).toMatchObject({ state: 'done', urlsCrawled: 2 });
    expect(() => statSync(join(app, 'node_modules/vitest'))).toThrow('ENOENT');
    expect(() => statSync(join(app, 'test'))).toThrow('ENOENT');
  }, 180_000);
});

/** The files of a checkout, packages and what git keeps left out. */
function filesOf(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((path) => !/^(\.git|node_modules|data)\//.test(path));
}
