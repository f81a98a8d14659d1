import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { page, startSite } from './fixtures/site.ts';
import { startServer, tempDataDir } from './server-process.ts';

const KEY = 'a-key-of-the-examples-test-0123456789';

it('examples/watch-crawl.ts follows a crawl from its start to its end', async () => {
  using dataDir = tempDataDir();
  const site = await startSite({ '/': page('Home', ['/one']), '/one': page('One') });
  try {
    await using server = await startServer(dataDir.path, { CRAWL_ALLOW_NETWORKS: '127.0.0.1', CRAWLGATE_API_KEY: KEY });
    const example = fileURLToPath(new URL('../examples/watch-crawl.ts', import.meta.url));
    const env = { PATH: process.env.PATH ?? '', CRAWLGATE_URL: server.url, CRAWLGATE_API_KEY: KEY };
    const { stdout } = await promisify(execFile)(process.execPath, [example, `${site.origin}/`], { env });
    const lines = stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^RUNNING /);
    expect(lines.at(-1)).toBe('DONE FINISHED 2 pages');
  } finally {
    await site.close();
  }
});
