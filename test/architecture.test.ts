import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  cycles,
  importsOf,
  loadedWith,
  localeUses,
  longFiles,
  oddNames,
  readsOfEnvironment,
  type Sources,
  signalsAndExits,
  wrongDirections,
  wrongSpecifiers,
} from './architecture.ts';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const sources: Sources = new Map(globSync('**/*.ts', { cwd: src }).map((path) => [path, readFileSync(`${src}${path}`, 'utf8')]));
const of = (files: Record<string, string>): Sources => new Map(Object.entries(files));

describe('the architecture of src', () => {
  it('reads every file', () => {
    expect(sources.size).toBeGreaterThan(20);
    expect(sources.has('main.ts')).toBe(true);
  });

  it('has dependencies in one direction only', () => expect(wrongDirections(sources)).toEqual([]));
  it('imports across folders by #folder/file.ts, inside one by ./file.ts', () => expect(wrongSpecifiers(sources)).toEqual([]));
  it('has no import cycles', () => expect(cycles(sources)).toEqual([]));
  it('has kebab-case names', () => expect(oddNames(sources)).toEqual([]));
  it('has no file above 250 lines that is not a test', () => expect(longFiles(sources)).toEqual([]));
  it('reads the environment in config/config.ts only', () => expect(readsOfEnvironment(sources)).toEqual([]));
  it('deals with signals and exits in main.ts only', () => expect(signalsAndExits(sources)).toEqual([]));
  it('uses no data of locales', () => expect(localeUses(sources)).toEqual([]));

  const large = ['http/api.ts', 'store/sqlite/open.ts', 'store/mongo/open.ts', 'domain/registrable-domain.ts'];
  it.each([
    ['main.ts', 'cli/program.ts', ['compose/run-service.ts', ...large]],
    ['compose/run-service.ts', 'http/server.ts', large],
    ['http/api.ts', 'http/rest/mount.ts', ['store/sqlite/open.ts', 'domain/registrable-domain.ts']],
  ])('loads with %s what is always needed, such as %s, and what only some processes need when they do', (start, needed, later) => {
    const loaded = loadedWith(sources, start);
    expect(loaded).toContain(needed);
    expect(later.filter((path) => !sources.has(path))).toEqual([]);
    expect(later.filter((path) => loaded.has(path))).toEqual([]);
  });
});

describe('the architecture check', () => {
  it('sees every form of import, and none in comments', () => {
    const source = `import a from 'a';
import {
  b,
} from "./b.ts";
import type { C } from '#c/c.ts';
import './d.ts';
export * from './e.ts';
export type { F } from './f.ts';
const g = await import('./g.ts');
type H = import('./h.ts').H;
export const text = 'import x from "./no.ts"';
// import './no.ts';
/* import './no.ts'; */`;
    expect(importsOf(source)).toEqual(['a', './b.ts', '#c/c.ts', './d.ts', './e.ts', './f.ts', './g.ts', './h.ts']);
  });

  it.each([
    ['domain/a.ts', '#store/store.ts'],
    ['domain/a.ts', 'undici'],
    ['store/store.ts', '#service/b.ts'],
    ['service/a.ts', '#store/sqlite/open.ts'],
    ['service/a.ts', '#bus/local.ts'],
    ['service/a.ts', '#crawler/b.ts'],
    ['crawler/a.ts', '#analysis/b.ts'],
    ['http/a.ts', '#worker/b.ts'],
    ['http/rest/a.ts', '#config/config.ts'],
    ['store/sqlite/a.ts', '#service/b.ts'],
    ['cli/a.ts', '#store/sqlite/b.ts'],
    ['compose/a.ts', '#cli/b.ts'],
  ])('refuses that %s imports %s', (path, specifier) => {
    expect(wrongDirections(of({ [path]: `import { x } from '${specifier}';` }))).toHaveLength(1);
  });

  it('refuses the wrong way to name a file', () => {
    const files = { 'domain/a.ts': `import '#domain/b.ts';`, 'domain/b.ts': '', 'service/c.ts': `import '../domain/b.ts';` };
    expect(wrongSpecifiers(of(files))).toHaveLength(2);
    expect(wrongSpecifiers(of({ 'domain/a.ts': `import './gone.ts';` }))).toHaveLength(1);
  });

  it('finds a cycle', () => {
    const files = { 'a/a.ts': `import './b.ts';`, 'a/b.ts': `import '#c/c.ts';`, 'c/c.ts': `import '#a/a.ts';` };
    expect(cycles(of(files))).toEqual(['a/a.ts → a/b.ts → c/c.ts → a/a.ts']);
  });

  it('refuses odd names, long files, and what belongs to config/config.ts and main.ts', () => {
    expect(oddNames(of({ 'a/someThing.ts': '', 'a/some-thing.test.ts': '' }))).toEqual(['a/someThing.ts']);
    expect(longFiles(of({ 'a.ts': '\n'.repeat(250).replaceAll('\n', 'x\n'), 'b.ts': 'x\n'.repeat(251) }))).toEqual(['b.ts: 251 lines']);
    expect(readsOfEnvironment(of({ 'config/config.ts': 'process.env', 'a.ts': 'process.env.X' }))).toEqual(['a.ts']);
    expect(
      signalsAndExits(of({ 'main.ts': 'process.exit(1)', 'a.ts': 'process.exitCode = 1', 'b.ts': "process.on('SIGTERM', f)" })),
    ).toEqual(['a.ts', 'b.ts']);
  });

  it('sees what is loaded, which types and calls of import are not', () => {
    const files = {
      'a.ts': "import type { T } from './t.ts';\nimport { b } from './b.ts';\nawait import('./c.ts');",
      'b.ts': "export * from './d.ts';",
    };
    expect([...loadedWith(of({ ...files, 'c.ts': '', 'd.ts': '', 't.ts': '' }), 'a.ts')]).toEqual(['a.ts', 'b.ts', 'd.ts']);
  });

  it.each(["n.toLocaleString('en')", 'a.localeCompare(b)', 'new Intl.Collator()'])('refuses %s', (code) =>
    expect(localeUses(of({ 'a.ts': code, 'b.test.ts': code }))).toEqual(['a.ts']),
  );
});
