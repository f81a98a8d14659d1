import { posix } from 'node:path';

/** Source text by path below src, such as `domain/url.ts`. */
export type Sources = ReadonlyMap<string, string>;

const MOST_LINES = 250;

/** What each part may import besides itself (DESIGN §2). `store`, `bus` and `limiter` are the ports; their adapters are parts of their own. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  telemetry: [],
  config: ['domain', 'telemetry'],
  store: ['domain'],
  'store/sqlite': ['domain', 'telemetry', 'store'],
  'store/mongo': ['domain', 'telemetry', 'store'],
  bus: ['domain'],
  'bus/adapter': ['domain', 'telemetry', 'bus', 'redis'],
  redis: [],
  limiter: ['domain'],
  'limiter/adapter': ['domain', 'telemetry', 'limiter', 'redis'],
  service: ['domain', 'telemetry', 'store', 'bus', 'limiter'],
  migration: ['domain', 'store'],
  crawler: ['domain', 'telemetry', 'store', 'bus'],
  analysis: ['domain', 'telemetry', 'store', 'bus'],
  worker: ['domain', 'telemetry', 'store', 'bus', 'service', 'crawler', 'analysis'],
  http: ['domain', 'telemetry', 'store', 'bus', 'service', 'crawler', 'analysis'],
  metrics: ['domain', 'telemetry', 'store', 'bus', 'service', 'crawler', 'worker', 'http'],
  compose: [
    'domain',
    'telemetry',
    'metrics',
    'config',
    'store',
    'store/sqlite',
    'store/mongo',
    'bus',
    'bus/adapter',
    'limiter',
    'limiter/adapter',
    'service',
    'migration',
    'crawler',
    'analysis',
    'worker',
    'http',
  ],
  cli: ['domain', 'telemetry', 'config', 'store', 'bus', 'service', 'migration', 'http', 'compose'],
  main: ['domain', 'telemetry', 'config', 'cli'],
};

/** The packages that the domain may use: pure ones. */
const DOMAIN_PACKAGES = new Set(['ipaddr.js', 'tldts', 'uuid', 'node:crypto']);

const isTest = (path: string): boolean => path.endsWith('.test.ts') || path.includes('/contract/') || path.includes('/fixtures/');

function partOf(path: string): string {
  const [folder = '', next = ''] = path.split('/');
  if (next === '') return folder.replace(/\.ts$/, '');
  if (folder === 'store' && path.split('/').length > 2) return `store/${next}`;
  if (folder === 'bus' && next !== 'bus.ts') return 'bus/adapter';
  if (folder === 'limiter' && next !== 'request-counter.ts') return 'limiter/adapter';
  return folder;
}

/** What a file imports: static, re-exported, dynamic and in type position. Comments are left out of the account. */
export function importsOf(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const statements = code.matchAll(/^\s*(?:import|export)\b(?:[^'"`;=]*?\bfrom\b)?\s*['"]([^'"]+)['"]/gm);
  const calls = code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g);
  return [...statements, ...calls].map((match) => match[1] ?? '');
}

/** The path below src that an import leads to; null for a package. */
function targetOf(path: string, specifier: string): string | null {
  if (specifier.startsWith('#')) return specifier.slice(1);
  return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : null;
}

const product = (sources: Sources): [string, string][] => [...sources].filter(([path]) => !isTest(path));

export function wrongDirections(sources: Sources): string[] {
  return product(sources).flatMap(([path, source]) =>
    importsOf(source).flatMap((specifier) => {
      const target = targetOf(path, specifier);
      const part = partOf(path);
      if (target === null) return part === 'domain' && !DOMAIN_PACKAGES.has(specifier) ? [`${path} imports the package ${specifier}`] : [];
      const allowed = partOf(target) === part || MAY_IMPORT[part]?.includes(partOf(target));
      return allowed ? [] : [`${path} imports ${target}`];
    }),
  );
}

/** Across folders `#folder/file.ts`, inside one `./file.ts`; files beside src's folders are reached either way. */
export function wrongSpecifiers(sources: Sources): string[] {
  return product(sources).flatMap(([path, source]) =>
    importsOf(source).flatMap((specifier) => {
      const target = targetOf(path, specifier);
      if (target === null) return [];
      if (!sources.has(target)) return [`${path} imports ${specifier}, which does not exist`];
      const [from, to] = [path.split('/')[0], target.split('/')[0]];
      const crosses = from !== to && target.includes('/') && path.includes('/');
      return crosses !== specifier.startsWith('#') && target.includes('/') && path.includes('/') ? [`${path} imports ${specifier}`] : [];
    }),
  );
}

/** Each cycle once, as the files on it in order. */
export function cycles(sources: Sources): string[] {
  const found = new Set<string>();
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.add([...trail.slice(start), path].join(' → '));
    if (start >= 0 || finished.has(path)) return;
    for (const specifier of importsOf(sources.get(path) ?? '')) {
      const target = targetOf(path, specifier);
      if (target !== null) visit(target, [...trail, path]);
    }
    finished.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return [...found];
}

export const oddNames = (sources: Sources): string[] =>
  [...sources.keys()].filter((path) => !/^([a-z0-9]+(-[a-z0-9]+)*\/)*[a-z0-9]+(-[a-z0-9]+)*(\.test)?\.ts$/.test(path));

export const longFiles = (sources: Sources): string[] =>
  product(sources).flatMap(([path, source]) => {
    const lines = source.trimEnd().split('\n').length;
    return lines > MOST_LINES ? [`${path}: ${lines} lines`] : [];
  });

/** Files other than `home` that use what belongs there. */
const usesOutside = (sources: Sources, home: string, pattern: RegExp): string[] =>
  product(sources).flatMap(([path, source]) => (path !== home && pattern.test(source) ? [path] : []));

export const readsOfEnvironment = (sources: Sources): string[] =>
  usesOutside(sources, 'config/config.ts', /\bprocess\s*\.\s*env\b|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/);

export const signalsAndExits = (sources: Sources): string[] =>
  usesOutside(
    sources,
    'main.ts',
    /\bprocess\s*\.\s*(exit|exitCode|abort|kill|reallyExit)\b|\bprocess\s*\.\s*(on|once|addListener)\(\s*['"](SIG|uncaught|unhandled|beforeExit|exit)/,
  );

/** The first use of the data of locales takes 7 MiB of each process, and nothing here is written in anybody's own language. */
export const localeUses = (sources: Sources): string[] => usesOutside(sources, '', /\.(toLocale\w+|localeCompare)\(|\bIntl\s*\./);

/** What is loaded as soon as `start` is: all that it imports, and what that imports, but neither types nor what is imported by a call. */
export function loadedWith(sources: Sources, start: string): Set<string> {
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    const source = (sources.get(path) ?? '').replace(/^\s*(import|export) type\b[^;]*;/gm, '').replace(/\bimport\(/g, 'load(');
    for (const specifier of importsOf(source)) {
      const target = targetOf(path, specifier);
      if (target !== null) load(target);
    }
  };
  load(start);
  return loaded;
}
