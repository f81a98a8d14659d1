import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const FLAG = '--max-semi-space-size=4';
const FIXTURE = fileURLToPath(new URL('./fixtures/young-generations.ts', import.meta.url));
const textOf = (path: string): Promise<string> => readFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

it('is small in the main thread and not in the crawler, as npm start and the command start them', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [FLAG, FIXTURE]);
  expect(stdout).toBe('main 8\ncrawler 32\n');
  expect(JSON.parse(await textOf('package.json')).scripts.start).toContain(` ${FLAG} `);
  expect((await textOf('bin/crawlgate.js')).split('\n')[0]).toBe(`#!/usr/bin/env -S node ${FLAG}`);
});

// three crawls of names whose servers did not answer made a fourth one, of another tenant, take 59 s instead of 0.4
it.runIf(process.platform === 'linux')(
  'leaves threads for look-ups when all crawls wait for theirs, of which half may look up',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(new URL('./fixtures/pool-threads.ts', import.meta.url))]);
    expect(stdout).toBe('16\n');
  },
);
