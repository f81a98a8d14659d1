import { expect, test } from 'vitest';
import type { PageWithLinks } from '#domain/page.ts';
import { fingerprintOf } from './fingerprint.ts';
import { blocked, errorPage, facts, failed, findingsOf, page, queued, redirected } from './fixtures/pages.ts';
import { RULES } from './registry.ts';

/** What all rules find on these pages. */
function findAll(pages: readonly PageWithLinks[]) {
  return RULES.flatMap((rule) => {
    const found =
      rule.kind === 'site' ? findingsOf(rule, pages) : pages.flatMap((one) => rule.check(one).map((evidence) => ({ page: one, evidence })));
    return found.map(({ page, evidence }) => ({ rule, url: page?.url ?? null, evidence }));
  });
}

const url = (seq: number) => `https://example.com/${seq}`;
const about = (seq: number, partial: Parameters<typeof facts>[0] = {}) => ({
  facts: facts({ title: `Page ${seq}`, description: `What is on page ${seq}.`, ...partial }),
});

test('a sound site has no findings, with all that sites do for good reasons', () => {
  const loginUrl = 'https://example.com/login?next=/account';
  const pages = [
    page(0, { links: [1, 2, 3, 4, 5, 6, 7, 8, 9], otherLinks: ['https://partner.example/'] }),
    page(1, about(1, { canonical: url(1), lang: 'de-AT' })),
    // the same list in another order, which names the one to list
    page(2, { url: `${url(1)}?sort=price`, ...about(1, { canonical: url(1) }) }),
    // a cart is no page to search for
    page(3, about(3, { noindex: true, textLength: 40, description: null })),
    redirected(4, loginUrl, { httpStatus: 302 }),
    redirected(5, 'https://partner.example/offer'),
    blocked(6),
    page(7, { contentType: 'application/pdf', facts: null, bytes: 65_536, links: [] }),
    // pages of a list, each a link further on
    page(8, { ...about(8), depth: 4, links: [0, 9] }),
    page(9, { ...about(9), depth: 5, links: [0, 8] }),
    page(10, { url: loginUrl, ...about(10, { noindex: true }) }),
    // where the crawl ended by its most pages
    queued(11),
    redirected(12, url(11), { httpStatus: 302 }),
  ];
  expect(findAll(pages)).toEqual([]);
});

test('a copy for tests on this machine, by http and with the canonicals of the published site, has no findings', () => {
  const local = (seq: number) => `http://127.0.0.1:8000/${seq}`;
  const pages = [0, 1, 2].map((seq) => page(seq, { url: local(seq), links: [0, 1, 2], ...about(seq, { canonical: url(seq) }) }));
  expect(findAll(pages)).toEqual([]);
});

test('a crawl of one page that is in order has no findings', () => {
  expect(findAll([page(0, { links: [] })])).toEqual([]);
});

const FAULTY = [
  page(0, { url: 'http://example.com/', links: [1, 2, 3, 4, 5, 9, 16], ...about(0) }),
  errorPage(1, 404),
  errorPage(2, 500),
  failed(3),
  redirected(4, url(5)),
  redirected(5, url(1)),
  redirected(6, url(7)),
  redirected(7, url(6)),
  page(8, about(8, { canonical: url(1) })),
  redirected(9, url(10), { url: 'http://example.com/9' }),
  page(10, { ...about(10, { title: '' }), bytes: 2_000_000, durationMs: 8_000 }),
  page(11, { ...about(11, { title: 'Tea '.repeat(30), description: 'Tea '.repeat(90), h1Count: 2, imagesWithoutAlt: 1 }), depth: 9 }),
  page(12, about(12, { title: 'Tea', description: 'Tea.', h1Count: 0, lang: null, textLength: 3 })),
  page(13, about(13, { title: 'Tea', description: 'Tea.', lang: 'deutsch' })),
  page(14, { ...about(14, { description: null }), links: [] }),
  page(15, { ...about(15), truncated: true }),
];

test('a site with every fault breaks every rule, but for one that would contradict others', () => {
  const broken = new Set(findAll(FAULTY).map(({ rule }) => rule.id));
  // all pages hidden, and some judged by what search engines list: not at once
  expect(RULES.map(({ id }) => id).filter((id) => !broken.has(id))).toEqual(['site.noindex']);
});

test('each finding of a crawl has a fingerprint of its own, and keeps it when the site grows', () => {
  const printsOf = (pages: readonly PageWithLinks[]) => findAll(pages).map(({ rule, url, evidence }) => fingerprintOf(rule, url, evidence));
  const prints = printsOf(FAULTY);
  expect(new Set(prints).size).toBe(prints.length);
  const more = [
    ...FAULTY,
    page(16, { ...about(16, { title: 'Tea', description: 'Tea.', lang: null, canonical: url(1) }), links: [1, 2, 3, 4, 5, 9] }),
  ];
  expect(printsOf(more.map((one) => (one.durationMs === null ? one : { ...one, durationMs: one.durationMs + 7 })))).toEqual(prints);
});

test('what a finding tells is bounded, however long the addresses and texts of a site are', () => {
  const long = (seq: number) => `https://example.com/${'x'.repeat(2_000)}${seq}`;
  const texts = { title: 't'.repeat(2_048), description: 'd'.repeat(2_048), lang: 'l'.repeat(64), canonical: long(1) };
  const pages = [
    ...Array.from({ length: 50 }, (_, seq) => redirected(seq, long(seq + 1), { url: long(seq) })),
    errorPage(50, 404, { url: long(50) }),
    ...Array.from({ length: 50 }, (_, at) => page(at + 51, { url: long(at + 51), links: [1, 50], ...about(0, texts) })),
  ];
  const sizes = findAll(pages).map(({ evidence }) => JSON.stringify(evidence).length);
  expect(Math.max(...sizes)).toBeLessThan(12 * 2_048);
});
