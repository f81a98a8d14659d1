import { describe, expect, it } from 'vitest';
import { runCli, tempDataDir } from './server-process.ts';

describe('a wrong configuration', () => {
  it.each([
    ['HOST', 'no host'],
    ['PORT', '70000'],
    ['PUBLIC_URL', 'crawl.example'],
    ['STORE_URL', 'mongodb://localhost/crawlgate'],
    ['BUS_URL', 'redis://localhost'],
    ['CRAWLGATE_API_KEY', 'too-short'],
    ['CRAWL_ALLOW_NETWORKS', '10.0.0.0/8,nowhere'],
    ['CRAWL_CONCURRENCY', '0'],
    ['CRAWL_RATE_PER_HOST', '-1'],
    ['WORKER_CRAWLS', 'many'],
    ['LEASE_SECONDS', '0.5'],
    ['MONTHLY_URL_QUOTA', '1e9'],
    ['READ_LIMIT_PER_MINUTE', '-1'],
    ['RETENTION_DAYS', '0'],
    ['LOG_LEVEL', 'loud'],
  ])('ends the start in one line that names %s, with exit code 2 and nothing written', async (name, value) => {
    using dataDir = tempDataDir();
    const ended = await runCli(['serve'], { PORT: '0', DATA_DIR: dataDir.path, [name]: value });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(new RegExp(`^crawlgate: ${name} [^\\n]*; accepted: [^\\n]+\\n$`));
    if (name === 'CRAWLGATE_API_KEY') expect(ended.stderr).not.toContain(value);
  });

  it.each(['gateway', 'worker'])('refuses --role %s, which one process on SQLite cannot have, saying so', async (role) => {
    const ended = await runCli(['serve', '--role', role]);
    expect(ended).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^crawlgate: --role ${role} needs .*\\n$`)),
    });
  });
});
