import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const FIXTURE = fileURLToPath(new URL('./fixtures/startup-heap.ts', import.meta.url));

it.each([
  ['is released', 'released', []],
  ['is released while a debugger may come', 'released', ['--inspect=0']],
  // A start failed there.
  ['is kept where the process may not use the inspector', 'kept', ['--permission', '--allow-fs-read=*']],
])('what a start leaves on the heap %s', async (_, said, flags) => {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, FIXTURE]);
  expect(stdout).toBe(`${said}\n`);
});
