import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Environment, runCli, spawnCli, tempDataDir } from './server-process.ts';

describe('a wrong configuration', () => {
  it.each([
    ['HOST', 'no host'],
    ['PORT', '70000'],
    ['PUBLIC_URL', 'crawl.example'],
    ['ROLE', 'leader'],
    ['STORE_URL', 'mongodb://me:hunter2@/crawlgate'],
    ['BUS_URL', 'redis://:hunter2@localhost/zero'],
    ['STORE_WAIT_SECONDS', 'long'],
    ['MONGODB_POOL_SIZE', '0'],
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
    expect(ended.stderr).not.toContain(name === 'CRAWLGATE_API_KEY' ? value : 'hunter2');
  });

  const MONGODB = { STORE_URL: 'mongodb://me:hunter2@127.0.0.1:1/crawlgate' };
  const REDIS = { BUS_URL: 'redis://me:hunter2@127.0.0.1:1' };

  it.each<[string, Environment, RegExp]>([
    ['all', REDIS, /^crawlgate: BUS_URL is set, but the store is SQLite.* set STORE_URL=mongodb:.*\n$/],
    ['all', MONGODB, /^crawlgate: role all on MongoDB needs .* set BUS_URL=redis:.*\n$/],
    ['gateway', {}, /^crawlgate: role gateway needs .* set STORE_URL=mongodb:.* and BUS_URL=redis:.*\n$/],
    ['gateway', REDIS, /^crawlgate: role gateway needs .* set STORE_URL=mongodb:.*\n$/],
    ['gateway', MONGODB, /^crawlgate: role gateway on MongoDB needs .* set BUS_URL=redis:.*\n$/],
    ['worker', {}, /^crawlgate: role worker needs .* set STORE_URL=mongodb:.* and BUS_URL=redis:.*\n$/],
    ['worker', REDIS, /^crawlgate: role worker needs .* set STORE_URL=mongodb:.*\n$/],
    ['worker', MONGODB, /^crawlgate: role worker on MongoDB needs .* set BUS_URL=redis:.*\n$/],
    ['all', { STORE_URL: 'mongodb://me:hunter2@127.0.0.1:1/?surprise=hunter2', ...REDIS }, /^crawlgate: STORE_URL is not .*\n$/],
  ])(
    'refuses role %s with %j in one line that says what to set, with exit code 2, nothing written and no URL shown',
    async (role, urls, line) => {
      using dataDir = tempDataDir();
      const environment = { PORT: '0', DATA_DIR: dataDir.path, LOG_LEVEL: 'trace', ...urls };
      const byOption = await runCli(['serve', '--role', role], environment);
      expect(byOption).toEqual({ code: 2, signal: null, stdout: '', stderr: expect.stringMatching(line) });
      expect(byOption.stderr).not.toContain('hunter2');
      expect(await runCli(['serve'], { ...environment, ROLE: role })).toEqual(byOption);
      expect(existsSync(dataDir.path)).toBe(false);
    },
  );

  it('has --role stand above ROLE', async () => {
    const ended = await runCli(['serve', '--role', 'worker'], { ROLE: 'gateway' });
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringMatching(/^crawlgate: role worker /) });
  });

  it.each<[string, string[]]>([
    ['a start, after the time that it waits,', ['serve', '--role', 'gateway']],
    ["an operator's command, at once,", ['orgs', 'list']],
  ])('that names a MongoDB that does not answer ends %s in one line, with exit code 1 and no URL shown', async (_name, words) => {
    const environment = { ...MONGODB, ...REDIS, PORT: '0', STORE_WAIT_SECONDS: '1', MONGODB_SELECTION_TIMEOUT_MS: '200' };
    const ended = await runCli(words, { ...environment, LOG_LEVEL: 'error' });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^crawlgate: the MongoDB of STORE_URL does not answer: [^\n]*127\.0\.0\.1:1\n$/);
    expect(ended.stderr).not.toContain('hunter2');
  });

  it('is not waited for by a start that is asked to stop: it ends at once, with exit code 0', async () => {
    const environment = { ...MONGODB, ...REDIS, PORT: '0', STORE_WAIT_SECONDS: '3600', MONGODB_SELECTION_TIMEOUT_MS: '200' };
    const starting = spawnCli(['serve', '--role', 'gateway'], environment);
    await starting.says(/is waited for/);
    starting.kill('SIGTERM');
    expect(await starting.ended).toEqual({ code: 0, signal: null });
    expect(starting.output.stdout + starting.output.stderr).not.toContain('hunter2');
  });
});
