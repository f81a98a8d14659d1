import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServerProcess, startServer, tempDataDir } from './server-process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const tour = readme.slice(readme.indexOf('## A five-minute tour'), readme.indexOf('## The API in short'));
const KEY = 'a-key-of-the-readme-test-0123456789';

type Step = { readonly command: string; readonly output: string };

/** The commands of the tour's console blocks, each with the output that stands below it. */
function stepsOf(text: string): Step[] {
  const blocks = [...text.matchAll(/^```console\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...output] = step.split('\n');
        return { command, output: output.join('\n').trim() };
      }),
  );
}

/** What differs from run to run is told alike: ids, cursors, months, the ports that the tour names, and what is seen of a crawl under way. */
const normalized = (text: string, ports: Readonly<Record<string, string>>): string =>
  Object.entries(ports)
    .reduce((told, [actual, named]) => told.replaceAll(`127.0.0.1:${actual}`, `127.0.0.1:${named}`), text)
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/"id":"[0-9a-f]{32}"/g, '"id":"<fingerprint>"')
    .replace(/"nextCursor":"[\w-]+"/g, '"nextCursor":"<cursor>"')
    .replace(/"month":"\d{4}-\d{2}"/g, '"month":"<month>"')
    .replace(/^(subscription +|\{"data":\{"crawlUpdated":\{"state":")?RUNNING.*\n/gm, '')
    .replace(/"resetsAt":"[^"]+"/g, '"resetsAt":"<time>"')
    .replace(/ in \d+\.\d s$/gm, ' in <time>')
    .trim();

describe('the five-minute tour of the README', () => {
  const dataDir = tempDataDir();
  let server: ServerProcess;
  let site: ChildProcess;
  let ports: Record<string, string>;

  beforeAll(async () => {
    site = spawn(process.execPath, [join(root, 'examples/demo-site.ts'), '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (site.stdout === null) throw new Error('no output of the demo site');
    const [line] = (await once(site.stdout, 'data')) as [Buffer];
    server = await startServer(dataDir.path, { CRAWL_ALLOW_NETWORKS: '127.0.0.1', CRAWLGATE_API_KEY: KEY });
    ports = { [new URL(server.url).port]: '4000', [/:(\d+)\//.exec(line.toString())?.[1] ?? '']: '8000' };
  });
  afterAll(async () => {
    site?.kill();
    await server?.[Symbol.asyncDispose]();
    dataDir[Symbol.dispose]();
  });

  it('gives the output that stands there', async () => {
    const steps = stepsOf(tour);
    expect(steps.length).toBeGreaterThan(6);
    const marker = '-- end of step --';
    let script = `KEY=${KEY}\nexport CRAWLGATE_URL=http://127.0.0.1:4000\ncd ${root}\n${steps.map(({ command }) => `${command}\necho; echo '${marker}'`).join('\n')}\n`;
    for (const [actual, named] of Object.entries(ports)) script = script.replaceAll(`127.0.0.1:${named}`, `127.0.0.1:${actual}`);
    script = script.replaceAll(/\/tmp\/(\w+\.json)/g, `${dataDir.path}/$1`).replaceAll('sleep 5', 'sleep 0.2');
    const { stdout } = await promisify(execFile)('bash', ['-c', script]);
    const told = stdout.split(marker).map((output) => normalized(output, ports));
    expect(told.slice(0, steps.length)).toEqual(steps.map(({ output }) => normalized(output, {})));
  }, 120_000);
});
