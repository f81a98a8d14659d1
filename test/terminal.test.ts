import { exec, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { keyOf, SERVE_COMMAND, startServer, tempDataDir } from './server-process.ts';

describe('the first start on a terminal', () => {
  it('prints organization, key and a curl line that works, and leaves no key file', async () => {
    using dataDir = tempDataDir();
    // `script` runs the command on a terminal of its own, and passes on what it prints there.
    await using server = await startServer(dataDir.path, { TERM: 'dumb' }, ['script', '-qefc', SERVE_COMMAND, '/dev/null']);
    const told = (): string => server.output.stdout.replaceAll('\r', '');
    while (!/^ +curl .*\n/m.test(told())) await new Promise((resolve) => setTimeout(resolve, 10));
    const [, organization] = /organization +(\S+)/.exec(told()) ?? [];
    const [, key = ''] = /API key +(\S+)/.exec(told()) ?? [];
    const [, curl = ''] = /^ +(curl .*)$/m.exec(told()) ?? [];
    expect(organization).toBe('default');
    expect(key).toMatch(/^cg_[\w-]{43}$/);
    expect(() => keyOf(dataDir.path)).toThrow('ENOENT');

    const { stdout } = await promisify(exec)(`${curl.replace('curl ', 'curl -sS ')}`);
    const { id } = JSON.parse(stdout) as { id: string };
    const detail = await fetch(`${server.url}/v1/crawls/${id}`, { headers: { Authorization: `Bearer ${key}` } });
    expect(detail.status).toBe(200);
    expect(await detail.json()).toMatchObject({ id, host: 'example.com' });
  });
});

describe('a wrapper for an old Node', () => {
  it('runs the command line under this one', async () => {
    const wrapper = new URL('../bin/crawlgate.js', import.meta.url).pathname;
    const child = spawn(process.execPath, [wrapper, 'keys', 'nonsense'], { stdio: ['ignore', 'ignore', 'pipe'] });
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(2);
  });
});
