import { afterEach, describe, expect, it } from 'vitest';
import { urlsQueued } from '#domain/snapshot.ts';
import { type CrawlWorld, openCrawlWorld } from '../../test/fixtures/crawl-world.ts';
import { answer, page, type Route, type Routes, redirect, type Site, startSite } from '../../test/fixtures/site.ts';

const opened: { close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

async function open(routes: Routes, options: Parameters<typeof openCrawlWorld>[0] = {}): Promise<{ site: Site; world: CrawlWorld }> {
  const site = await startSite(routes);
  opened.push(site);
  const world = await openCrawlWorld(options);
  opened.push(world);
  return { site, world };
}

describe('the pages of a crawl', () => {
  it('are found by links, fetched once each, and stored with their depth and the page that found them', async () => {
    const { site, world } = await open({
      '/': page('Home', ['/a', 'b#part', './b', 'mailto:x@example.com', 'javascript:void(0)', '#top', 'https://other.example/x']),
      '/a': page('A', ['/', '/a/deep']),
      '/b': page('B', ['/a', '?q=1']),
      '/b?q=1': page('B1'),
      '/a/deep': page('Deep', ['../b']),
    });
    const { ending, snapshot, pages, page: of, usage } = await world.crawl(`${site.origin}/`);
    expect(ending).toEqual({ endReason: 'completed', error: null });
    expect(site.paths().sort()).toEqual(['/', '/a', '/a/deep', '/b', '/b?q=1']);
    expect(pages.map(({ seq, depth, foundOn, status, httpStatus }) => [seq, depth, foundOn, status, httpStatus])).toEqual([
      [0, 0, null, 'fetched', 200],
      [1, 1, 0, 'fetched', 200],
      [2, 1, 0, 'fetched', 200],
      expect.arrayContaining([3, 2, 'fetched', 200]),
      expect.arrayContaining([4, 2, 'fetched', 200]),
    ]);
    expect(of('/').links).toEqual([1, 2, 0]);
    expect(of('/').otherLinks).toEqual(['https://other.example/x']);
    expect(of('/a/deep').links).toEqual([2]);
    expect(of('/').facts).toMatchObject({ title: 'Home', lang: 'en', h1Count: 1 });
    expect(snapshot.counters).toEqual({ discovered: 5, fetched: 5, redirected: 0, failed: 0, blocked: 0 });
    expect(usage.used).toBe(5);
    expect(site.seen[0]).toMatchObject({ path: '/robots.txt', userAgent: 'crawlgate/0.0.0 (+http://localhost)' });
  });

  it('go no deeper than maxDepth: what lies beyond is a link', async () => {
    const { site, world } = await open({ '/': page('0', ['/1']), '/1': page('1', ['/2', '/']), '/2': page('2') });
    const { pages, page: of } = await world.crawl(`${site.origin}/`, { maxDepth: 1 });
    expect(pages.length).toBe(2);
    expect(of('/1')).toMatchObject({ links: [0], otherLinks: [`${site.origin}/2`] });
    const only = await world.crawl(`${site.origin}/`, { maxDepth: 0 });
    expect(only.pages.length).toBe(1);
  });

  it('end at maxUrls with the rest queued, and redirects do not count', async () => {
    const links = Array.from({ length: 30 }, (_, index) => `/p${index}`);
    const pages = Object.fromEntries(links.map((link) => [link, page(link)]));
    const { site, world } = await open({ '/': page('Home', ['/r', ...links]), '/r': redirect('/p29'), ...pages });
    const { ending, snapshot, usage } = await world.crawl(`${site.origin}/`, { maxUrls: 10 });
    expect(ending).toEqual({ endReason: 'max_urls', error: null });
    expect(snapshot.counters).toEqual({ discovered: 32, fetched: 10, redirected: 1, failed: 0, blocked: 0 });
    expect(urlsQueued(snapshot.counters)).toBe(21);
    expect(usage.used).toBe(10);
  });

  it('are complete when exactly maxUrls were there', async () => {
    const { site, world } = await open({ '/': page('Home', ['/a']), '/a': page('A', ['/']) });
    expect((await world.crawl(`${site.origin}/`, { maxUrls: 2 })).ending.endReason).toBe('completed');
  });

  it('none of a depth is asked for before the depth above has ended', async () => {
    const { site, world } = await open({
      '/': page('Home', ['/slow', '/fast']),
      '/fast': page('Fast', ['/deep']),
      '/slow': (_, response) =>
        void setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(page('Slow', ['/deep2'])), 250),
      '/deep': page('Deep'),
      '/deep2': page('Deep 2'),
    });
    await world.crawl(`${site.origin}/`);
    const at = (path: string): number => site.seen.find((request) => request.path === path)?.at ?? 0;
    expect(Math.min(at('/deep'), at('/deep2')) - at('/slow')).toBeGreaterThanOrEqual(240);
  });

  it('that only nofollow links lead to are blocked, and others are followed in whatever order the links come', async () => {
    const { site, world } = await open({
      '/': '<a rel=nofollow href=/both>1</a><a rel="ugc nofollow" href=/never>2</a><a href=/silent>3</a>',
      '/silent': page('Silent', ['/hidden', '/both', '/'], '<meta name=robots content="noindex,nofollow">'),
      '/hidden': page('Hidden'),
      '/both': page('Both'),
    });
    const closed = await world.crawl(`${site.origin}/`);
    expect(site.paths().sort()).toEqual(['/', '/silent']);
    expect(closed.page('/never')).toMatchObject({
      status: 'blocked',
      depth: 1,
      reason: 'Every link to it is nofollow, by its rel or by the meta robots or X-Robots-Tag of its page.',
    });
    expect(closed.page('/hidden')).toMatchObject({ status: 'blocked', depth: 2 });
    expect(closed.page('/').otherLinks).toContain(`${site.origin}/never`);
    expect(closed.snapshot.counters).toEqual({ discovered: 5, fetched: 2, redirected: 0, failed: 0, blocked: 3 });
  });

  it('are not followed from where X-Robots-Tag says so, in one of several headers, and are hidden from search by it', async () => {
    const tagged =
      (tags: string[], status: number, body: string, headers = {}): Route =>
      (_, response) =>
        void response.writeHead(status, { 'content-type': 'text/html', 'x-robots-tag': tags, ...headers }).end(body);
    const { site, world } = await open({
      '/': page('Home', ['/closed', '/other', '/hidden', '/missing', '/moved', '/long']),
      '/closed': tagged(['max-snippet: 20, noindex', 'crawlgate: nofollow'], 200, page('Closed', ['/never', '/hidden'])),
      '/other': tagged(['otherbot: none', 'unavailable_after: Friday, 25-Jun-10 15:00:00 GMT'], 200, page('Other', ['/found'])),
      '/hidden': tagged(['noindex'], 200, page('Hidden', ['/found'])),
      '/missing': tagged(['none'], 404, page('Missing')),
      '/moved': tagged(['nofollow'], 302, '', { location: '/target' }),
      '/long': tagged([`${' ,:'.repeat(20_000)}, nofollow`], 200, page('Long', ['/never'])),
      '/found': page('Found'),
      '/target': page('Target'),
    });
    const { page: of, snapshot, ending } = await world.crawl(`${site.origin}/`);
    expect(ending.endReason).toBe('completed');
    expect(of('/closed').facts).toMatchObject({ title: 'Closed', noindex: true, nofollow: true });
    expect(of('/never')).toMatchObject({ status: 'blocked', foundOn: of('/closed').seq, reason: expect.stringContaining('X-Robots-Tag') });
    expect(of('/other').facts).toMatchObject({ noindex: false, nofollow: false });
    expect(of('/long').facts).toMatchObject({ noindex: false, nofollow: true });
    expect(of('/hidden').facts).toMatchObject({ noindex: true, nofollow: false });
    expect(of('/missing').facts).toMatchObject({ noindex: true, nofollow: true });
    expect([of('/found').status, of('/target').status]).toEqual(['fetched', 'fetched']);
    expect(snapshot.counters.blocked).toBe(1);
  });

  it('that robots.txt forbids are blocked, with the line that decided', async () => {
    const { site, world } = await open({
      '/robots.txt': answer(200, { 'content-type': 'text/plain' }, 'User-agent: *\nAllow: /\nDisallow: /private\n'),
      '/': page('Home', ['/private/a', '/public', '/%70rivate/b']),
      '/public': page('Public'),
    });
    const { page: of, snapshot } = await world.crawl(`${site.origin}/`);
    expect(of('/private/a')).toMatchObject({ status: 'blocked', reason: 'robots.txt line 3: Disallow: /private' });
    expect(of('/%70rivate/b').status).toBe('blocked');
    expect(site.paths().sort()).toEqual(['/', '/public']);
    expect(snapshot.counters.blocked).toBe(2);
  });

  // The server of a site in windows-1251 was asked in UTF-8, and answered that there is no such page.
  it('have their queries asked for in the encoding of their page, and their paths in UTF-8', async () => {
    const html = Buffer.concat([
      Buffer.from('<meta charset=windows-1251><a href="/s?q='),
      Buffer.from([0xcf, 0xf0]),
      Buffer.from('">x</a><a href="/'),
      Buffer.from([0xcf]),
      Buffer.from('">y</a>'),
    ]);
    const { site, world } = await open({ '/': answer(200, { 'content-type': 'text/html' }, html) });
    await world.crawl(`${site.origin}/`);
    expect(site.paths().sort()).toEqual(['/', '/%D0%9F', '/s?q=%CF%F0']);
  });

  // The page of the empty query was asked for without it, and judged by robots.txt without it.
  it('have their empty query asked for', async () => {
    const { site, world } = await open({
      '/robots.txt': answer(200, { 'content-type': 'text/plain' }, 'User-agent: *\nDisallow: /closed?\n'),
      '/': page('Home', ['/a', '/a?', '/closed', '/closed?']),
    });
    const { pages } = await world.crawl(`${site.origin}/`);
    expect(site.paths().sort()).toEqual(['/', '/a', '/a?', '/closed']);
    expect(pages.find(({ url }) => url.endsWith('/closed?'))?.status).toBe('blocked');
  });

  it('resolve against a base element, and on both directories of one reference', async () => {
    const { site, world } = await open({
      '/': page('Home', ['/x/', '/y/', '/based']),
      '/x/': page('X', ['same']),
      '/y/': page('Y', ['same']),
      '/based': page('Based', ['same', ''], '<base href="/z/">'),
    });
    const { pages } = await world.crawl(`${site.origin}/`);
    const paths = pages.map(({ url }) => new URL(url).pathname).sort();
    expect(paths).toEqual(['/', '/based', '/x/', '/x/same', '/y/', '/y/same', '/z/', '/z/same']);
  });

  // The first page of a directory decided where such a link of all its pages led to.
  it.each([' ?p', '\n?p', 'HTTP:?p', 'http:?p#x'])('resolve %j on each page of a directory by itself', async (reference) => {
    const { site, world } = await open({
      '/': page('Home', ['/d/one', '/d/two']),
      '/d/one': page('1', [reference, ' ']),
      '/d/two': page('2', [reference, ' ']),
    });
    const { page: of } = await world.crawl(`${site.origin}/`);
    for (const path of ['/d/one', '/d/two']) expect(of(path).links).toEqual([of(`${path}?p`).seq, of(path).seq]);
  });

  it('keep at most 5,000 outgoing links, and still follow the rest', async () => {
    const links = Array.from({ length: 5_100 }, (_, index) => `/p${index}`);
    const { site, world } = await open({ '/': page('Home', links) });
    const { page: of, snapshot, ending } = await world.crawl(`${site.origin}/`, { maxUrls: 3 });
    expect(of('/')).toMatchObject({ linksTruncated: true });
    expect(of('/').links.length).toBe(5_000);
    expect(snapshot.counters.discovered).toBe(5_101);
    expect(ending.endReason).toBe('max_urls');
  });

  it('beyond the bound of the frontier are dropped, which is told', async () => {
    const links = Array.from({ length: 10_100 }, (_, index) => `/p${index}`);
    const { site, world } = await open({ '/': page('Home', links) });
    const { snapshot } = await world.crawl(`${site.origin}/`, { maxUrls: 1 });
    expect(snapshot.frontierTruncated).toBe(true);
    // The seed is still queued when its links are discovered: maxUrls + 10,000 with it.
    expect(snapshot.counters.discovered).toBe(10_001);
  });

  it('are told of as they are stored, each version with its counters in balance', async () => {
    const links = Array.from({ length: 40 }, (_, index) => `/p${index}`);
    const slow = Object.fromEntries(
      links.map((link) => [
        link,
        (_: unknown, response: { end: (text: string) => void }) => void setTimeout(() => response.end(page(link)), 100),
      ]),
    ) as unknown as Routes;
    const { site, world } = await open({ '/': page('Home', links), ...slow });
    const { snapshot } = await world.crawl(`${site.origin}/`);
    const versions = world.published.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].sort((one, other) => one - other));
    expect(versions.length).toBeGreaterThan(2);
    expect(versions.at(-1)).toBe(snapshot.version);
    for (const { counters } of world.published) expect(urlsQueued(counters)).toBeGreaterThanOrEqual(0);
    expect(snapshot.phase).toBe('fetching');
  });
});

describe('a redirect', () => {
  it('is a page of its own; its target has the same depth', async () => {
    const { site, world } = await open({
      '/': page('Home', ['/old']),
      '/old': redirect('/new#part', 301),
      '/new': page('New', ['/next']),
      '/next': page('Next'),
    });
    const { page: of, usage } = await world.crawl(`${site.origin}/`);
    expect(of('/old')).toMatchObject({ status: 'redirected', httpStatus: 301, depth: 1, redirectUrl: `${site.origin}/new` });
    expect(of('/new')).toMatchObject({ status: 'fetched', depth: 1, redirects: 1, foundOn: 1 });
    expect(of('/next').depth).toBe(2);
    expect(usage.used).toBe(3);
  });

  // was asked for as /caf%C3%83%C2%A9
  it('that names its target in plain UTF-8 leads there', async () => {
    const { site, world } = await open({
      '/': answer(302, { location: Buffer.from('/café').toString('latin1') }),
      '/caf%C3%A9': page('Café'),
    });
    const { snapshot } = await world.crawl(`${site.origin}/`);
    expect(snapshot.counters).toMatchObject({ redirected: 1, fetched: 1 });
    expect(site.paths()).toContain('/caf%C3%A9');
  });

  // It was charged as a page, and nothing told where it led.
  it.each([
    ['mailto:a@example.com', /^\S+\/to redirects to mailto:a@example\.com, which is no address of a web page\.$/],
    ['http://', /^\S+\/to redirects to http:\/\/, which is no valid address\.$/],
    ['http://user:hush@127.0.0.1/', /^\S+\/to redirects to an address with a user name or password, which is not asked for\.$/],
    [
      `/in?SAMLRequest=${'x'.repeat(3_000)}`,
      /^\S+\/to redirects to http\S+\/in\?SAMLRequest=x{100,200}…, an address of more than 2048 characters\.$/,
    ],
  ])('to what is no page says so, and is not charged: %s', async (location, reason) => {
    const { site, world } = await open({ '/': page('Home', ['/to']), '/to': redirect(location) });
    const { page: of, usage, pages } = await world.crawl(`${site.origin}/`);
    expect(of('/to')).toMatchObject({ status: 'redirected', httpStatus: 302, redirectUrl: null, reason: expect.stringMatching(reason) });
    expect([usage.used, pages.length]).toEqual([1, 2]);
  });

  it('off the site is not followed', async () => {
    const { site, world } = await open({ '/': page('Home', ['/away']), '/away': redirect('https://other.example/') });
    const { page: of, pages } = await world.crawl(`${site.origin}/`);
    expect(of('/away')).toMatchObject({ status: 'redirected', redirectUrl: 'https://other.example/' });
    expect(pages.length).toBe(2);
  });

  it('is followed ten times in a row', async () => {
    const hops = Object.fromEntries(Array.from({ length: 20 }, (_, hop) => [`/hop${hop}`, redirect(`/hop${hop + 1}`)]));
    const { site, world } = await open({ '/': page('Home', ['/hop0']), ...hops });
    const { pages } = await world.crawl(`${site.origin}/`);
    expect(pages.filter(({ status }) => status === 'redirected').length).toBe(11);
    expect(pages.at(-1)).toMatchObject({ redirects: 10, status: 'redirected' });
  });
});
