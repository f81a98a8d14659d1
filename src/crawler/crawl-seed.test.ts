import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/cluster/free-port.ts';
import { type CrawlWorld, openCrawlWorld } from '../../test/fixtures/crawl-world.ts';
import { answer, FAULTS, inTurn, page, type Route, type Routes, redirect, type Site, startSite } from '../../test/fixtures/site.ts';
import type { Lookup } from './address-guard.ts';

const opened: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** Names of a test: `private` ones resolve to an address that is not allowed. */
const lookup: Lookup = async (hostname) => {
  if (hostname.startsWith('private.')) return [{ address: '10.1.2.3', family: 4 }];
  if (hostname.endsWith('.test')) return [{ address: '127.0.0.1', family: 4 }];
  throw Object.assign(new Error(`no ${hostname}`), { code: 'ENOTFOUND' });
};

async function open(routes: Routes): Promise<{ site: Site; world: CrawlWorld }> {
  const site = await startSite(routes);
  opened.push(site);
  const world = await openCrawlWorld({ lookup });
  opened.push(world);
  return { site, world };
}

const robots = (text: string): Routes => ({ '/robots.txt': answer(200, { 'content-type': 'text/plain' }, text), '/': page('Home') });

describe('a crawl whose start', () => {
  it('is refused a connection ends seed_unreachable, naming that', async () => {
    const { world } = await open({});
    const port = await freePort();
    const { ending, snapshot } = await world.crawl(`http://127.0.0.1:${port}/`);
    expect(ending).toEqual({ endReason: 'seed_unreachable', error: `Could not connect to 127.0.0.1:${port}: the connection was refused.` });
    expect(snapshot.counters).toEqual({ discovered: 1, fetched: 0, redirected: 0, failed: 0, blocked: 1 });
  });

  it('has a name that does not resolve ends seed_unreachable', async () => {
    const { world } = await open({});
    expect((await world.crawl('http://nowhere.invalid/')).ending).toEqual({
      endReason: 'seed_unreachable',
      error: 'Could not connect to nowhere.invalid: the name does not resolve.',
    });
  });

  it('never answers ends seed_unreachable, with the page failed', async () => {
    const { site, world } = await open({ '/silent': FAULTS['/silent'] });
    const { ending, page: of } = await world.crawl(`${site.origin}/silent`);
    expect(ending).toEqual({ endReason: 'seed_unreachable', error: `127.0.0.1:${site.port} did not answer within 1.5 seconds.` });
    expect(of('/silent').status).toBe('failed');
  });

  it('answers with an error is a page: the crawl is complete', async () => {
    const { site, world } = await open({ '/error-500': FAULTS['/error-500'] });
    expect((await world.crawl(`${site.origin}/error-500`)).ending).toEqual({ endReason: 'completed', error: null });
  });

  it('resolves to a private address ends address_not_allowed, without naming it', async () => {
    const { world } = await open({});
    expect((await world.crawl('http://private.example.test/')).ending).toEqual({
      endReason: 'address_not_allowed',
      error: 'private.example.test does not resolve to a public address.',
    });
  });

  it('is a literal private address or a blocked port ends address_not_allowed', async () => {
    const { world } = await open({});
    expect((await world.crawl('http://10.0.0.1/')).ending).toEqual({
      endReason: 'address_not_allowed',
      error: '10.0.0.1 is not a public address.',
    });
    expect((await world.crawl('http://example.test:25/')).ending).toMatchObject({
      endReason: 'address_not_allowed',
      error: 'Port 25 of example.test is not allowed.',
    });
  });

  it('redirects to a private address ends address_not_allowed, and that is not asked', async () => {
    const { site, world } = await open({ '/literal': redirect('http://10.0.0.1/'), '/name': redirect('http://private.example.test/') });
    const literal = await world.crawl(`${site.origin}/literal`);
    expect(literal.ending).toEqual({
      endReason: 'address_not_allowed',
      error: `${site.origin}/literal redirects to http://10.0.0.1/: 10.0.0.1 is not a public address.`,
    });
    const name = await world.crawl(`http://www.example.test:${site.port}/name`);
    expect(name.ending).toEqual({ endReason: 'address_not_allowed', error: 'private.example.test does not resolve to a public address.' });
    expect(name.pages.map(({ status }) => status)).toEqual(['redirected', 'blocked']);
  });

  it('redirects off-site, in a loop or too often ends seed_unreachable, naming the redirect', async () => {
    const hops = Object.fromEntries(Array.from({ length: 20 }, (_, hop) => [`/hop${hop}`, redirect(`/hop${hop + 1}`)]));
    const { site, world } = await open({
      '/away': redirect('https://other.example/x'),
      '/loop': redirect('/back'),
      '/back': redirect('/loop'),
      ...hops,
    });
    const errorOf = async (path: string): Promise<unknown> => (await world.crawl(`${site.origin}${path}`)).ending;
    expect(await errorOf('/away')).toEqual({
      endReason: 'seed_unreachable',
      error: `${site.origin}/away redirects to https://other.example/x, which is another site.`,
    });
    expect(await errorOf('/loop')).toEqual({
      endReason: 'seed_unreachable',
      error: `${site.origin}/back redirects to ${site.origin}/loop, in a loop.`,
    });
    expect(await errorOf('/hop0')).toEqual({
      endReason: 'seed_unreachable',
      error: `${site.origin}/hop10 redirects to ${site.origin}/hop11, after 10 redirects in a row, which is too many.`,
    });
  });

  it('redirects to what is no page ends seed_unreachable, saying so', async () => {
    const { site, world } = await open({ '/': redirect('intent://scan/#Intent;scheme=zxing;end') });
    const { ending, usage } = await world.crawl(`${site.origin}/`);
    expect(ending).toMatchObject({
      endReason: 'seed_unreachable',
      error: expect.stringContaining(`${site.origin}/ redirects to intent://scan/`),
    });
    expect(usage.used).toBe(0);
  });

  it('redirects until a cookie comes back ends seed_unreachable, saying that none is kept', async () => {
    const cookies = '; the site sets a cookie meanwhile, and may redirect until it comes back, but the crawler keeps no cookies.';
    const setting = (location: string): Route => answer(302, { location, 'set-cookie': 'seen=1' });
    const { site, world } = await open({
      '/self': setting('/self'),
      '/': setting('/check'),
      '/check': redirect('/'),
      '/away': setting('http://other.example/'),
    });
    const errorOf = async (path: string): Promise<string | null> => (await world.crawl(`${site.origin}${path}`)).ending.error;
    expect(await errorOf('/self')).toBe(`${site.origin}/self redirects to ${site.origin}/self, in a loop${cookies}`);
    expect(await errorOf('/')).toBe(`${site.origin}/check redirects to ${site.origin}/, in a loop${cookies}`);
    expect(await errorOf('/away')).toBe(`${site.origin}/away redirects to http://other.example/, which is another site.`);
  });

  it('may carry a secret in its query, which is told to its owner and not to the log', async () => {
    const { site, world } = await open({ '/': redirect('http://elsewhere.example/?token=hushhush') });
    const { ending } = await world.crawl(`${site.origin}/?token=hushhush`);
    expect(ending.error).toContain('hushhush');
    expect(world.logged.length).toBeGreaterThan(0);
    expect(world.logged.filter((line) => line.includes('hushhush'))).toEqual([]);
  });

  it('redirects from apex to www crawls both hosts, and no third one', async () => {
    const { site, world } = await open({
      '/': (request, response) =>
        request.headers.host?.startsWith('www.')
          ? response.end(page('Home', ['/a', `http://apex.test:${site.port}/b`, `http://shop.apex.test:${site.port}/c`]))
          : response.writeHead(301, { location: `http://www.apex.test:${site.port}/` }).end(),
      '/a': page('A'),
      '/b': page('B'),
    });
    const { ending, pages } = await world.crawl(`http://apex.test:${site.port}/`);
    expect(ending.endReason).toBe('completed');
    expect(pages.map(({ url, status, depth }) => [new URL(url).hostname + new URL(url).pathname, status, depth])).toEqual([
      ['apex.test/', 'redirected', 0],
      ['www.apex.test/', 'fetched', 0],
      ['www.apex.test/a', 'fetched', 1],
      ['apex.test/b', 'fetched', 1],
    ]);
  });

  it('has an expired certificate ends seed_unreachable, naming that', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'crawlgate-tls-'));
    const trusted = tls.getCACertificates('default');
    try {
      const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
      const subject = ['-subj', '/CN=expired.test', '-addext', 'subjectAltName=DNS:expired.test'];
      openssl(
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        'key.pem',
        '-out',
        'ca.pem',
        '-subj',
        '/CN=ca',
        '-days',
        '30',
      );
      openssl(
        'req',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        'site.key',
        '-out',
        'site.csr',
        ...subject,
      );
      openssl(
        'x509',
        '-req',
        '-in',
        'site.csr',
        '-CA',
        'ca.pem',
        '-CAkey',
        'key.pem',
        '-out',
        'site.pem',
        '-days',
        '-1',
        '-copy_extensions',
        'copy',
      );
      const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
      tls.setDefaultCACertificates([...trusted, read('ca.pem')]);
      const { world } = await open({});
      const site = await startSite({ '/': page('Home') }, { tls: { key: read('site.key'), cert: read('site.pem') } });
      opened.push(site);
      expect((await world.crawl(`https://expired.test:${site.port}/`)).ending).toEqual({
        endReason: 'seed_unreachable',
        error: `Could not connect to expired.test:${site.port}: the certificate has expired.`,
      });
    } finally {
      tls.setDefaultCACertificates(trusted);
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a robots.txt', () => {
  it('that forbids the start ends the crawl seed_blocked_by_robots, with its line', async () => {
    const { site, world } = await open(robots('User-agent: crawlgate\nDisallow: /\n'));
    const { ending, page: of } = await world.crawl(`${site.origin}/`);
    expect(ending).toEqual({
      endReason: 'seed_blocked_by_robots',
      error: `${site.origin}/ may not be crawled: robots.txt line 2: Disallow: /.`,
    });
    expect(of('/')).toMatchObject({ status: 'blocked', reason: 'robots.txt line 2: Disallow: /' });
    expect(site.paths()).toEqual([]);
  });

  it('that answers 404 or 403 allows everything', async () => {
    for (const status of [404, 403]) {
      const { site, world } = await open({ '/robots.txt': answer(status), '/': page('Home') });
      expect((await world.crawl(`${site.origin}/`)).ending.endReason).toBe('completed');
    }
  });

  it('that answers 503 is asked for three times, and then forbids everything', async () => {
    const { site, world } = await open({ '/robots.txt': answer(503), '/': page('Home') });
    expect((await world.crawl(`${site.origin}/`)).ending).toEqual({
      endReason: 'seed_blocked_by_robots',
      error: `${site.origin}/ may not be crawled: robots.txt answered with status 503, which forbids everything.`,
    });
    expect(site.seen.map(({ path }) => path)).toEqual(['/robots.txt', '/robots.txt', '/robots.txt']);
  });

  it('that fails once and then answers is heeded', async () => {
    const { site, world } = await open({
      ...robots('User-agent: *\nDisallow: /x'),
      '/robots.txt': inTurn(FAULTS['/reset-before-answer'], answer(200)),
    });
    expect((await world.crawl(`${site.origin}/`)).ending.endReason).toBe('completed');
  });

  it('that cannot be had ends the crawl seed_unreachable', async () => {
    const { site, world } = await open({ '/robots.txt': FAULTS['/reset-before-answer'], '/': page('Home') });
    expect((await world.crawl(`${site.origin}/`)).ending).toEqual({
      endReason: 'seed_unreachable',
      error: `127.0.0.1:${site.port} closed the connection without an answer.`,
    });
    expect(site.paths()).toEqual([]);
  });

  // It was asked for again within three seconds, and then taken for one that allows everything, for a day.
  it('that asks to wait is waited for, and is not known for long when it never comes', async () => {
    const busy = answer(429, { 'retry-after': '1' });
    const closed = answer(200, {}, 'User-agent: *\nDisallow: /');
    const { site, world } = await open({ '/robots.txt': inTurn(busy, closed), '/': page('Home') });
    expect((await world.crawl(`${site.origin}/`)).ending.endReason).toBe('seed_blocked_by_robots');
    const [first, second] = site.seen;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(390);

    const never = await open({ '/robots.txt': answer(429), '/': page('Home') });
    expect((await never.world.crawl(`${never.site.origin}/`)).ending.endReason).toBe('completed');
    const { status = 0, fetchedAt = 0, expiresAt = 0 } = (await never.world.store.getRobots(never.site.origin)) ?? {};
    expect([status, expiresAt - fetchedAt]).toEqual([429, 60_000]);
  });

  it('in UTF-16, as an editor saves it, is read', async () => {
    const text = Buffer.from('\uFEFFUser-agent: *\r\nDisallow: /', 'utf16le');
    for (const body of [text, Buffer.from(text).swap16()]) {
      const { site, world } = await open({ '/robots.txt': answer(200, { 'content-type': 'text/plain' }, body), '/': page('Home') });
      expect((await world.crawl(`${site.origin}/`)).ending.endReason).toBe('seed_blocked_by_robots');
    }
  });

  it('of 1 MB is read up to 500 KiB', async () => {
    const filler = `Disallow: /filler\n`.repeat(25_000);
    const { site, world } = await open({
      ...robots(`User-agent: *\nDisallow: /early\n${filler}${'# '.repeat(60_000)}\n${filler}Disallow: /late\n`),
      '/': page('Home', ['/early', '/late']),
      '/late': page('Late'),
    });
    const { page: of } = await world.crawl(`${site.origin}/`);
    expect([of('/early').status, of('/late').status]).toEqual(['blocked', 'fetched']);
  });

  it('is followed over five redirects, and not over six', async () => {
    const chain = (length: number): Routes => ({
      '/': page('Home'),
      '/robots.txt': redirect('/r1'),
      ...Object.fromEntries(
        Array.from({ length }, (_, hop) => [
          `/r${hop + 1}`,
          hop + 1 === length ? answer(200, {}, 'User-agent: *\nDisallow: /') : redirect(`/r${hop + 2}`),
        ]),
      ),
    });
    const five = await open(chain(5));
    expect((await five.world.crawl(`${five.site.origin}/`)).ending.endReason).toBe('seed_blocked_by_robots');
    const six = await open(chain(6));
    expect((await six.world.crawl(`${six.site.origin}/`)).ending.endReason).toBe('completed');
  });

  it('is kept for the next crawl, and not charged', async () => {
    const { site, world } = await open(robots('User-agent: *\nAllow: /'));
    await world.crawl(`${site.origin}/`);
    const { usage } = await world.crawl(`${site.origin}/`);
    expect(site.seen.filter(({ path }) => path === '/robots.txt').length).toBe(1);
    expect(usage.used).toBe(2);
  });

  it('that asks for a Crawl-delay gets it, also inside an allowed network', async () => {
    const { site, world } = await open({
      ...robots('User-agent: *\nCrawl-delay: 1'),
      '/': page('Home', ['/a', '/b']),
      '/a': page('A'),
      '/b': page('B'),
    });
    await world.crawl(`${site.origin}/`);
    const times = site.seen.filter(({ path }) => path !== '/robots.txt').map(({ at }) => at);
    // two delays, but for how late the first request may have come; one delay would be a second
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1_200);
  });
});
