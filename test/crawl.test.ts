import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../scripts/cluster/free-port.ts';
import { answer, page, redirect, soundPage, startSite } from './fixtures/site.ts';
import { runCli, spawnCli, tempDir } from './server-process.ts';

const site = await startSite({
  '/': soundPage('Home', ['/a', '/b', '/gone', '/evil']),
  '/a': soundPage('Same'),
  '/b': soundPage('Same', ['/gone']),
  '/gone': answer(404, { 'content-type': 'text/html' }, page('Not here')),
  '/evil': soundPage('\u001b[2J\u009b2JHidden', ['/hidden'], 'Evil.'),
  '/hidden': soundPage('\u001b[2J\u009b2JHidden', [], 'Hidden.'),
});
afterAll(() => site.close());

async function crawl(...words: string[]) {
  using root = tempDir(); // where the command may put files
  // variables of a service that runs elsewhere: none of it is touched
  const foreign = { STORE_URL: 'mongodb://127.0.0.1:1/none', BUS_URL: 'redis://127.0.0.1:1', CRAWLGATE_API_KEY: 'k'.repeat(30) };
  const ended = await runCli(['crawl', ...words], { TMPDIR: root.path, ...foreign });
  expect(readdirSync(root.path)).toEqual([]);
  return ended;
}

describe('crawlgate crawl', () => {
  it('tells what it found by rule, the gravest first, and leaves nothing behind', async () => {
    const { code, stdout, stderr } = await crawl(site.origin, '--allow-private');
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^([a-z]+: \d+ of \d+ pages\n)+$/) });
    expect(stderr).toMatch(/finished: 6 of 6 pages\n$/);
    expect(
      stdout
        .replace(/in \d+\.\d s/, 'in 0.0 s')
        .replaceAll(site.origin, 'http://site')
        .replace(/^ {2}(To do: )?[A-Z].*\n/gm, ''),
    ).toBe(
      `http://site/ done in 0.0 s
pages: 6 crawled; 5 findings (1 high, 3 medium, 1 low)

HIGH link.broken_internal: 1 finding
  - http://site/gone
    status: 404
    link count: 2
    linked from:
      http://site/
      http://site/b

MEDIUM http.client_error: 1 finding
  - http://site/gone
    status: 404

MEDIUM title.duplicate: 2 findings
  - title: Same
    page count: 2
    pages:
      http://site/a
      http://site/b
  - title: \ufffd[2J\ufffd2JHidden
    page count: 2
    pages:
      http://site/evil
      http://site/hidden

LOW description.duplicate: 1 finding
  - description: About Same.
    page count: 2
    pages:
      http://site/a
      http://site/b
`,
    );
    expect(new Set(site.seen.map(({ userAgent }) => userAgent.replace(/\d+\.\d+\.\d+/, '*')))).toEqual(new Set(['crawlgate/*']));
  });

  it('shows people ten findings of a rule, and says how many more there are', async () => {
    const paths = Array.from({ length: 25 }, (_, n) => `/${n}`);
    const untitled = await startSite({
      '/': soundPage('Home', paths),
      ...Object.fromEntries(paths.map((path) => [path, soundPage('', [], `About ${path}.`)])),
    });
    const { stdout } = await crawl(untitled.origin, '--allow-private');
    expect(stdout).toContain('\nHIGH title.missing: 25 findings\n');
    expect(stdout.match(/^ {2}- http/gm)).toHaveLength(10);
    expect(stdout).toMatch(/\n {2}- and 15 more, which --json prints\n$/);
    await untitled.close();
  });

  it('prints JSON with the names of the API, and fails where a build asks it to', async () => {
    const { code, stdout, stderr } = await crawl(site.origin, '--allow-private', '--json', '--max-depth', '1', '--fail-on', 'medium');
    expect({ code, last: stderr.split('\n').at(-2) }).toEqual({
      code: 1,
      last: 'crawlgate: of the findings, 3 are of severity medium or above',
    });
    const { crawl: told, findings } = JSON.parse(stdout);
    expect(told).toMatchObject({ state: 'done', endReason: 'completed', error: null, urlsCrawled: 5, urlsQueued: 0, findingsCount: 4 });
    expect(findings.map(({ rule }: { rule: string }) => rule).sort()).toEqual([
      'description.duplicate',
      'http.client_error',
      'link.broken_internal',
      'title.duplicate',
    ]);
    expect(findings[0]).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      why: expect.any(String),
      evidence: expect.any(Object),
    });
    expect(await crawl(site.origin, '--allow-private', '--max-urls', '1', '--fail-on', 'high')).toMatchObject({ code: 0 });
  });

  it('says why a crawl failed, with exit code 1', async () => {
    const { code, stdout, stderr } = await crawl(`http://127.0.0.1:${await freePort()}`, '--allow-private');
    expect(code).toBe(1);
    expect(stdout).toMatch(/ failed in [\d.]+ s\nCould not connect to 127\.0\.0\.1.*\npages: 0 crawled, .*; not analysed\n$/);
    expect(stderr).toMatch(/\ncrawlgate: the crawl failed\n$/);
  });

  // the line of robots.txt that decided is the site's own text, and was printed as it came
  it('lets no site steer the terminal by why the crawl failed', async () => {
    const hostile = await startSite({
      '/robots.txt': answer(200, {}, 'User-agent: *\nDisallow: *\u001b]0;title\u0007'),
      '/': redirect('/%1b]0;title%07'),
    });
    const { stdout } = await crawl(hostile.origin, '--allow-private');
    expect(stdout).toContain('may not be crawled: robots.txt line 2: Disallow: *\ufffd]0;title\ufffd.\n');
    await hostile.close();
  });

  it('crawls public addresses only, until it is told that others may be', async () => {
    expect(await crawl(site.origin)).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        'crawlgate: the URL must not be the non-public address 127.0.0.1; --allow-private lets this machine and private networks be crawled\n',
    });
    const named = await crawl(site.origin.replace('127.0.0.1', 'localhost'));
    expect(named).toMatchObject({ code: 1, stderr: expect.stringMatching(/: the crawl failed; --allow-private lets .* be crawled\n$/) });
    const secret = await crawl('http://169.254.169.254/', '--allow-private');
    expect(secret).toMatchObject({ code: 2, stderr: 'crawlgate: the URL must not be the non-public address 169.254.169.254\n' });
  });

  it.each([
    [['ftp://example.com/'], /^crawlgate: the URL must be an http or https URL, not ftp:\n$/],
    [['https://example.com/', '--max-urls', '0'], /^crawlgate: --max-urls must be a whole number, at least 1\n$/],
    [['https://example.com/', '--max-depth', '-1'], /^crawlgate: .*--max-depth.*whole number/],
    [['https://example.com/', '--fail-on', 'fatal'], /^crawlgate: .*--fail-on.*high, medium, low/],
    [[], /^crawlgate: missing required argument 'url'/],
  ])('refuses %j with exit code 2', async (words, told) => {
    expect(await crawl(...words)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(told) });
  });

  it('reports what was found by then when it is interrupted', async () => {
    using root = tempDir(); // where the command may put files
    const slow = await startSite({ '/': soundPage('', ['/never']), '/never': () => {} });
    const asked = slow.asked('/never');
    const running = spawnCli(['crawl', slow.origin, '--allow-private', '--json'], { TMPDIR: root.path });
    await asked;
    running.kill('SIGINT');
    expect(await running.ended).toEqual({ code: 1, signal: null });
    const { crawl: told } = JSON.parse(running.output.stdout);
    expect(told).toMatchObject({ state: 'failed', endReason: 'cancelled', urlsCrawled: 1, urlsQueued: 1, findingsCount: 1 });
    expect(running.output.stderr).toMatch(/\ncrawlgate: the crawl failed\n$/);
    expect(readdirSync(root.path)).toEqual([]);
    await slow.close();
  });
});
