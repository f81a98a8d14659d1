import { exec } from 'node:child_process';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { keyOf, SERVE_COMMAND, type ServerProcess, startServer, tempDataDir } from './server-process.ts';

/** `script` runs the command on a terminal of its own, and passes on what it prints there. */
const onTerminal = ['script', '-qefc', SERVE_COMMAND, '/dev/null'];

/** What was printed, once it has a whole curl line. */
async function toldBy({ output }: ServerProcess): Promise<string> {
  for (;;) {
    const text = output.stdout.replaceAll('\r', '');
    if (/^ +curl .*\n/m.test(text)) return text;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('the first start on a terminal', () => {
  it('prints organization, key and a curl line that works, and leaves no key file', async () => {
    using dataDir = tempDataDir();
    await using server = await startServer(dataDir.path, { TERM: 'dumb' }, onTerminal);
    const told = await toldBy(server);
    const [, organization] = /organization +(\S+)/.exec(told) ?? [];
    const [, key = ''] = /API key +(\S+)/.exec(told) ?? [];
    const [, curl = ''] = /^ +(curl .*)$/m.exec(told) ?? [];
    expect(organization).toBe('default');
    expect(key).toMatch(/^cg_[\w-]{43}$/);
    expect(() => keyOf(dataDir.path)).toThrow('ENOENT');

    const { stdout } = await promisify(exec)(`${curl} -sS`);
    const { id } = JSON.parse(stdout) as { id: string };
    const detail = await fetch(`${server.url}/v1/crawls/${id}`, { headers: { Authorization: `Bearer ${key}` } });
    expect(detail.status).toBe(200);
    expect(await detail.json()).toMatchObject({ id, host: 'example.com' });
  });

  it('still tells the key after an attempt that found its port taken', async () => {
    using dataDir = tempDataDir();
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    await expect(startServer(dataDir.path, { TERM: 'dumb', PORT: String(port) }, onTerminal)).rejects.toThrow('cannot listen on');
    other.close();
    await using server = await startServer(dataDir.path, { TERM: 'dumb' }, onTerminal);
    expect(await toldBy(server)).toMatch(/API key +cg_[\w-]{43}/);
  });
});
