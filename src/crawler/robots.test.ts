import { describe, expect, it } from 'vitest';
import { processorTime } from './fixtures/processor-time.ts';
import { parseRobots, productToken } from './robots.ts';

const allows = (text: string, target: string, token = 'crawlgate'): boolean => parseRobots(text, token).check(target).allowed;

describe('the matching of RFC 9309 §2.2.2', () => {
  // The table of the section: the path as written in robots.txt, or as it came, and the path to match.
  const same: [string, string][] = [
    ['/foo/bar?baz=quz', '/foo/bar?baz=quz'],
    ['/foo/bar?baz=https://foo.bar', '/foo/bar?baz=https%3A%2F%2Ffoo.bar'],
    ['/foo/bar/\u30c4', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%E3%83%84', '/foo/bar/%E3%83%84'],
    ['/foo/bar/%62%61%7A', '/foo/bar/baz'],
  ];
  it.each(same)('the rule %s matches %s', (rule, target) => {
    expect(allows(`User-agent: *\nDisallow: ${rule}`, target)).toBe(false);
  });
  it.each(same.filter(([rule]) => !rule.includes('\u30c4')))('the rule for %s holds for it as it came', (path, rule) => {
    expect(allows(`User-agent: *\nDisallow: ${rule}`, path)).toBe(false);
  });
  it('does not undo the escape of a reserved character', () => {
    expect(allows('User-agent: *\nDisallow: /a%2Fb', '/a/b')).toBe(true);
    expect(allows('User-agent: *\nDisallow: /a%2fb', '/a%2Fb/c')).toBe(false);
  });
});

describe('the special characters of §2.2.3', () => {
  it.each([
    ['/this/*/exactly', '/this/is/exactly/it', false],
    ['/this/*/exactly', '/this/exactly', true],
    ['/*.gif$', '/a/b.gif', false],
    ['/*.gif$', '/a/b.gif?x', true],
    ['/a*b*c', '/a-b-b-c', false],
    ['/a*b*c', '/a-c-b', true],
    ['/path/file-with-a-%2A.html', '/path/file-with-a-*.html', false],
    ['/path/foo-%24', '/path/foo-$', false],
    ['/path/foo-%24', '/path/foo-', true],
    ['/exact$', '/exact', false],
    ['/exact$', '/exactly', true],
    ['*', '/anything', false],
    ['/fish*', '/fish.html', false],
    ['/a*aa$', '/aaa', false],
    ['/a*aa$', '/aa', true],
  ])('Disallow: %s, %s allowed: %s', (rule, target, allowed) => {
    expect(allows(`User-agent: *\nDisallow: ${rule}`, target)).toBe(allowed);
  });
  it('takes no longer than a pass over the target for a rule of many wildcards', () => {
    const rule = `/${'*a'.repeat(1_000)}b`;
    const began = processorTime();
    expect(allows(`User-agent: *\nDisallow: ${rule}`, `/${'a'.repeat(2_000)}`)).toBe(true);
    expect(processorTime() - began).toBeLessThan(5_000); // one that goes back would not come to an end
  });
  it('takes no longer than a pass over a line for one that is mostly spaces', () => {
    const gap = ' '.repeat(500_000);
    const began = processorTime();
    expect(allows(`User-agent: *\nDisallow: /a${gap}b\nDisallow: /c`, '/c')).toBe(false);
    expect(processorTime() - began).toBeLessThan(10_000); // of the square of its length, minutes
  });
  it.each(['Disallow : /a', '\tDISALLOW:/a # why: not', 'Disallow: /a#b', 'Disallow: /a # a\u2028b'])('reads the line %j', (line) => {
    expect(allows(`User-agent: *\n${line}`, '/a')).toBe(false);
    expect(allows(`User-agent: *\n${line}`, '/b')).toBe(true);
  });
});

describe('the groups of §2.2.1', () => {
  // §5.1, the simple example.
  const simple = [
    'User-Agent: *',
    'Disallow: *.gif$',
    'Disallow: /example/',
    'Allow: /publications/',
    '',
    'User-Agent: foobot',
    'Disallow:/',
    'Allow:/example/page.html',
    'Allow:/example/allowed.gif',
    '',
    'User-Agent: barbot',
    'User-Agent: bazbot',
    'Disallow: /example/page.html',
    '',
    'User-Agent: quxbot',
  ].join('\n');
  it.each([
    ['other', '/a.gif', false],
    ['other', '/example/page.html', false],
    ['other', '/publications/x', true],
    ['foobot', '/example/page.html', true],
    ['foobot', '/example/allowed.gif', true],
    ['foobot', '/other', false],
    ['barbot', '/example/page.html', false],
    ['bazbot', '/example/page.html', false],
    ['bazbot', '/other.gif', true],
    ['quxbot', '/example/', true],
  ])('%s and %s: %s', (token, target, allowed) => {
    expect(allows(simple, target, token)).toBe(allowed);
  });
  it('lets the longest match decide (§5.2)', () => {
    const text = 'User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif';
    expect(allows(text, '/example/page/disallowed.gif', 'foobot')).toBe(false);
    expect(allows(text, '/example/page/', 'foobot')).toBe(true);
  });
  it('prefers Allow among equals', () => {
    expect(allows('User-agent: *\nDisallow: /page\nAllow: /page', '/page')).toBe(true);
  });
  it('merges the groups of one agent, in any case of letters', () => {
    const text = 'User-agent: CrawlGate\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\nUser-agent: crawlgate/2.0\nDisallow: /b';
    expect([allows(text, '/a'), allows(text, '/b'), allows(text, '/c')]).toEqual([false, false, true]);
  });
  it('does not end a list of agents at Crawl-delay, Sitemap or an unknown line', () => {
    const text = 'User-agent: crawlgate\nCrawl-delay: 2\nSitemap: https://a/s.xml\nFoo: bar\nUser-agent: other\nDisallow: /x';
    expect([allows(text, '/x'), allows(text, '/x', 'other')]).toEqual([false, false]);
  });
});

describe('what stands in real files', () => {
  it('reads CR, LF and CRLF lines, comments, a BOM and spaces', () => {
    const text = '\uFEFF# hello\r User-Agent : * # all\r\n\tDisallow : /private # secret\nDisallow:\n';
    expect([allows(text, '/private/x'), allows(text, '/public')]).toEqual([false, true]);
  });
  it('allows everything when it is empty, binary or HTML', () => {
    for (const text of ['', '\0\u0001\u0002', '<!doctype html><html><body>Not found</body></html>']) expect(allows(text, '/')).toBe(true);
  });
  it('names the line that decided', () => {
    expect(parseRobots('User-agent: *\n\nDisallow: /private', 'crawlgate').check('/private/page')).toEqual({
      allowed: false,
      reason: 'robots.txt line 3: Disallow: /private',
    });
  });
  it('heeds a Crawl-delay up to 30 seconds', () => {
    const delayOf = (value: string): number => parseRobots(`User-agent: *\nCrawl-delay: ${value}`, 'crawlgate').crawlDelay;
    expect([delayOf('2.5'), delayOf('86400'), delayOf('-1'), delayOf('soon')]).toEqual([2.5, 30, 0, 0]);
  });
  // 500 KiB of them took half a second for each URL: one page with many links held up the crawls of everybody for hours.
  it('heeds the first thousand rules with a wildcard, and all others', () => {
    const wildcards = Array.from({ length: 30_000 }, (_, index) => `Disallow: /*/x${index}`);
    const text = ['User-agent: *', ...wildcards, 'Disallow: /private', 'Allow: /private/*/x5'].join('\n');
    const { check } = parseRobots(text, 'crawlgate');
    expect(check('/a/x999')).toMatchObject({ allowed: false, reason: 'robots.txt line 1001: Disallow: /*/x999' });
    expect(['/a/x', '/private', '/private/b/x5'].map((target) => check(target).allowed)).toEqual([true, false, false]);
    const began = processorTime();
    for (let count = 0; count < 20; count++) check(`/${'/x'.repeat(1_000)}${count}`);
    expect(processorTime() - began).toBeLessThan(3_000); // with all of them, ten seconds
  });
  it('heeds rules with a wildcard while they fit fifty thousand characters, and leaves out one that does not', () => {
    const long = Array.from({ length: 100 }, (_, index) => `Disallow: /*${'a'.repeat(490)}b${index}`);
    const { check } = parseRobots(['User-agent: *', ...long, `Disallow: /*${'a'.repeat(5_000)}`, 'Disallow: /*c'].join('\n'), 'crawlgate');
    expect(['/c', `/${'a'.repeat(490)}b99`, `/${'a'.repeat(5_000)}`].map((target) => check(target).allowed)).toEqual([false, false, true]);
  });
  it('never forbids robots.txt itself', () => {
    expect(allows('User-agent: *\nDisallow: /', '/robots.txt')).toBe(true);
  });
  it('takes the product token from a User-Agent value', () => {
    expect(productToken('crawlgate/0.1.0 (+https://example.com)')).toBe('crawlgate');
  });
});
