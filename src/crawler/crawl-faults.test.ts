import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Crawled, type CrawlWorld, openCrawlWorld } from '../../test/fixtures/crawl-world.ts';
import { answer, FAULTS, inTurn, page, type Site, startSite } from '../../test/fixtures/site.ts';

const MIB = 1024 * 1024;
const once503 = answer(503, { 'retry-after': '1' });

describe('a site with every fault', () => {
  let site: Site;
  let world: CrawlWorld;
  let crawled: Crawled;
  beforeAll(async () => {
    const recovers = { '/recovers': inTurn(answer(500), FAULTS['/reset-before-answer'], page('Recovered', ['/after'])) };
    const answersOnce = {
      '/answers-once': inTurn(answer(502, { 'content-type': 'text/html' }, page('Bad gateway')), FAULTS['/reset-before-answer']),
    };
    const routes = { ...FAULTS, ...recovers, ...answersOnce, '/busy': inTurn(once503, page('Not busy')) };
    site = await startSite({ '/': page('Home', Object.keys(routes)), ...routes });
    world = await openCrawlWorld({ settings: { concurrency: 16 } });
    crawled = await world.crawl(`${site.origin}/`);
  }, 60_000);
  afterAll(async () => {
    await world.close();
    await site.close();
  });
  const attempts = (path: string): number => site.paths().filter((seen) => seen === path).length;

  it('is crawled to its end all the same, each page charged at most once', () => {
    expect(crawled.ending).toEqual({ endReason: 'completed', error: null });
    const { discovered, fetched, redirected, failed, blocked } = crawled.snapshot.counters;
    expect(fetched + redirected + failed + blocked).toBe(discovered);
    expect(crawled.usage.used).toBe(fetched);
    expect(crawled.pages.filter(({ status }) => status === 'fetched').length).toBe(fetched);
  });

  it.each([
    ['/error-500', { status: 'fetched', httpStatus: 500 }],
    ['/error-503', { status: 'fetched', httpStatus: 503 }],
    [
      '/silent',
      { status: 'failed', httpStatus: null, reason: expect.stringMatching(/^127\.0\.0\.1:\d+ did not answer within 1\.5 seconds\.$/) },
    ],
    ['/huge-headers', { status: 'failed', reason: expect.stringMatching(/answered with more than 64 KiB of headers\.$/) }],
  ])('%s is asked for three times', (path, stored) => {
    expect(crawled.page(path)).toMatchObject(stored);
    expect(attempts(path)).toBe(3);
  });

  it('/reset-before-answer is asked for three times, and once more at once where its connection had been used before', () => {
    const reason = expect.stringMatching(/closed the connection without an answer\.$/);
    expect(crawled.page('/reset-before-answer')).toMatchObject({ status: 'failed', reason });
    expect([3, 4, 5, 6]).toContain(attempts('/reset-before-answer'));
  });

  it.each([
    ['/slow-body', { status: 'fetched', httpStatus: 200, truncated: true }],
    ['/reset-in-body', { status: 'fetched', truncated: true }],
    ['/loop', { status: 'redirected' }],
    ['/loop-back', { status: 'redirected' }],
    ['/redirect-without-target', { status: 'fetched', httpStatus: 302, redirectUrl: null }],
    ['/wrong-charset', { facts: expect.objectContaining({ title: 'Caf\uFFFD' }) }],
    ['/unknown-charset', { facts: expect.objectContaining({ title: 'Qapla\u2019' }) }],
    ['/latin1-meta', { facts: expect.objectContaining({ title: 'Caf\u00e9' }) }],
    ['/broken-html', { status: 'fetched', truncated: false }],
    ['/no-content-type', { contentType: null, facts: expect.objectContaining({ title: 'Untyped' }) }],
    ['/no-content-type-binary', { contentType: null, facts: null, truncated: false }],
    ['/gzip-bomb', { status: 'fetched', truncated: true, bytes: 5 * MIB }],
    ['/broken-gzip', { status: 'fetched', truncated: true, facts: expect.objectContaining({ title: 'Half' }) }],
    ['/unknown-encoding', { status: 'fetched', truncated: true, bytes: 0 }],
    ['/charset-as-encoding', { status: 'fetched', truncated: false, facts: expect.objectContaining({ title: 'Plain' }) }],
    ['/empty-untyped', { status: 'fetched', contentType: null, truncated: false, facts: null }],
    ['/big-binary', { status: 'fetched', contentType: 'application/octet-stream', facts: null, truncated: false }],
    ['/small-binary', { status: 'fetched', contentType: 'image/png', facts: null, bytes: 2_000 }],
    ['/huge-page', { status: 'fetched', truncated: true, bytes: 5 * MIB, facts: expect.objectContaining({ title: 'Huge page' }) }],
  ])('%s is asked for once', (path, stored) => {
    expect(crawled.page(path)).toMatchObject(stored);
    expect(attempts(path)).toBe(1);
  });

  it('is read as far as it goes: links before the fault are followed', () => {
    for (const path of ['/after-reset', '/from-broken', '/from-untyped', '/early', '/after'])
      expect(crawled.page(path)).toMatchObject({ httpStatus: 404 });
    expect(crawled.pages.some(({ url }) => url.endsWith('/late'))).toBe(false);
  });

  it('gives a page that recovers its place', () => {
    expect(crawled.page('/recovers')).toMatchObject({
      status: 'fetched',
      httpStatus: 200,
      facts: expect.objectContaining({ title: 'Recovered' }),
    });
    expect(attempts('/recovers')).toBe(3);
  });

  it('keeps the last response when no further one comes', () => {
    expect(crawled.page('/answers-once')).toMatchObject({
      status: 'fetched',
      httpStatus: 502,
      facts: expect.objectContaining({ title: 'Bad gateway' }),
    });
  });

  it('is left alone for as long as Retry-After asks, within bounds', () => {
    const [first, second] = site.seen.filter(({ path }) => path === '/busy');
    expect(crawled.page('/busy')).toMatchObject({ httpStatus: 200 });
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(390);
  });
});
