import { afterEach, expect, test } from 'vitest';
import { LeaseLost } from '#domain/lease.ts';
import type { DiscoveredPage, PageResult, PageWithLinks } from '#domain/page.ts';
import { monthOf } from '#domain/quota.ts';
import { answered, claimNext, type Run, type World, worldOf } from '#store/contract/world.ts';
import { sqliteHarness } from '#store/sqlite/fixtures/harness.ts';
import { createAnalyze } from './create-analyze.ts';
import { createFindingWriter, MAX_FINDINGS_PER_RULE } from './finding-writer.ts';
import { blocked, errorPage, facts, failed, page, redirected } from './fixtures/pages.ts';
import { httpClientError } from './rules/http-client-error.ts';
import { httpNoResponse } from './rules/http-no-response.ts';
import { linkBrokenInternal } from './rules/link-broken-internal.ts';
import { titleDuplicate } from './rules/title-duplicate.ts';
import { titleMissing } from './rules/title-missing.ts';

/** Of each kind: on one page, between pages, and of no single page. */
const rules = [httpClientError, httpNoResponse, linkBrokenInternal, titleMissing, titleDuplicate];

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function openWorld(): Promise<World> {
  const world = worldOf(await sqliteHarness.open());
  worlds.push(world);
  return world;
}

const never = new AbortController().signal;

const discoveryOf = ({ seq, url, depth, foundOn, redirects, status, reason }: PageWithLinks): DiscoveredPage => ({
  seq,
  url,
  depth,
  foundOn,
  redirects,
  status: status === 'blocked' ? 'blocked' : 'queued',
  reason: status === 'blocked' ? reason : null,
});

function resultsOf(pages: readonly PageWithLinks[]): PageResult[] {
  return pages.flatMap(({ url, depth, foundOn, redirects, status, ...rest }) =>
    status === 'queued' || status === 'blocked'
      ? []
      : [{ ...rest, status, fetchedAt: rest.fetchedAt ?? 0, durationMs: rest.durationMs ?? 0 }],
  );
}

/** Stores pages as a crawler does and ends the fetching, so that only the analysis is left. */
async function fetched({ store }: World, { id, token }: Run, pages: readonly PageWithLinks[]): Promise<void> {
  const month = monthOf(await store.now());
  let number = 0;
  for (let from = 0; from < pages.length; from += 50) {
    const some = pages.slice(from, from + 50);
    const results = resultsOf(some);
    const charged = results.filter(({ status }) => status === 'fetched').length;
    if (charged > 0) answered(await store.grantQuota(id, token, month, charged));
    const batch = { discovered: some.map(discoveryOf), results, charges: { [month]: charged }, frontierTruncated: false };
    answered(await store.commitPages(id, token, { number: ++number, ...batch }));
  }
  answered(await store.beginAnalysis(id, token, { endReason: 'completed', error: null }));
}

async function analyzed(world: World, run: Run, pages: readonly PageWithLinks[]) {
  await fetched(world, run, pages);
  const count = await createAnalyze({ store: world.store, rules })(run.claim, never);
  return { count, findings: await finished(world, run, count) };
}

async function finished({ store }: World, { id, token, tenant }: Run, count: number) {
  answered(await store.finish(id, token, { endReason: 'completed', error: null }, count));
  return answered(await store.listFindings(tenant.organizationId, id, { limit: 20_000 }));
}

const SITE = [
  page(0, { depth: 0, links: [1, 2, 3, 4, 5, 6], facts: facts({ title: 'Home' }) }),
  page(1, { links: [0, 2, 4], facts: facts({ title: 'Shop' }) }),
  errorPage(2, 404, { links: [0] }),
  page(3, { facts: facts({ title: '' }) }),
  failed(4, 'Could not connect to example.com: connection refused.'),
  redirected(5, 'https://example.com/1'),
  blocked(6),
  page(7, { facts: facts({ title: 'Shop' }), links: [0] }),
];

test('the stored pages of a crawl are checked by each rule, and the findings can be read', async () => {
  const world = await openWorld();
  const { count, findings } = await analyzed(world, await world.running(), SITE);
  const url = (seq: number) => `https://example.com/${seq}`;
  expect(count).toBe(6);
  expect(findings.map(({ fingerprint, ...finding }) => finding)).toEqual([
    { ordinal: 0, rule: 'http.client_error', severity: 'medium', pageSeq: 2, url: url(2), evidence: { status: 404 } },
    { ordinal: 1, rule: 'title.missing', severity: 'high', pageSeq: 3, url: url(3), evidence: {} },
    {
      ordinal: 2,
      rule: 'http.no_response',
      severity: 'high',
      pageSeq: 4,
      url: url(4),
      evidence: { reason: 'Could not connect to example.com: connection refused.' },
    },
    {
      ordinal: 3,
      rule: 'link.broken_internal',
      severity: 'high',
      pageSeq: 2,
      url: url(2),
      evidence: { target: url(2), status: 404, reason: null, linkCount: 2, linkedFrom: [url(0), url(1)] },
    },
    {
      ordinal: 4,
      rule: 'link.broken_internal',
      severity: 'high',
      pageSeq: 4,
      url: url(4),
      evidence: {
        target: url(4),
        status: null,
        reason: 'Could not connect to example.com: connection refused.',
        linkCount: 2,
        linkedFrom: [url(0), url(1)],
      },
    },
    {
      ordinal: 5,
      rule: 'title.duplicate',
      severity: 'medium',
      pageSeq: null,
      url: null,
      evidence: { title: 'Shop', pageCount: 2, pages: [url(1), url(7)] },
    },
  ]);
});

test('a second crawl of the same site has the same fingerprints, each once, also when counts and order have changed', async () => {
  const world = await openWorld();
  const first = await analyzed(world, await world.running(), SITE);
  const grown = [...SITE, page(8, { links: [2, 4], facts: facts({ title: 'Shop' }) })];
  const second = await analyzed(world, await world.running(), grown);
  const prints = (findings: typeof first.findings) => findings.map(({ fingerprint }) => fingerprint).sort();
  expect(prints(second.findings)).toEqual(prints(first.findings));
  expect(new Set(prints(first.findings)).size).toBe(6);
});

test('a site without faults has zero findings', async () => {
  const world = await openWorld();
  const { count, findings } = await analyzed(world, await world.running(), [page(0)]);
  expect([count, findings]).toEqual([0, []]);
});

test('more pages and findings than one read or write takes are all checked, told and numbered', async () => {
  const world = await openWorld();
  const pages = Array.from({ length: 1_300 }, (_, seq) => page(seq, { facts: facts({ title: `Title ${seq % 650}` }) }));
  const { count, findings } = await analyzed(world, await world.running(), pages);
  expect(count).toBe(650);
  expect(findings.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 650 }, (_, ordinal) => ordinal));
  expect(findings.at(-1)?.evidence).toEqual({
    title: 'Title 649',
    pageCount: 2,
    pages: ['https://example.com/649', 'https://example.com/1299'],
  });
});

test('other work of the thread goes on between the chunks', async () => {
  const world = await openWorld();
  const run = await world.running();
  const pages = Array.from({ length: 400 }, (_, seq) => page(seq, { facts: facts({ title: `Title ${seq}` }) }));
  await fetched(world, run, pages); // no findings: a write would be a pause of itself
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  await createAnalyze({ store: world.store, rules })(run.claim, never);
  clearImmediate(counting);
  expect(turns).toBeGreaterThanOrEqual(400 / 50);
});

test('an analysis that is repeated under its token, or by the next run, leaves each finding once', async () => {
  const world = await openWorld();
  const run = await world.running();
  const analyze = createAnalyze({ store: world.store, rules });
  await fetched(world, run, SITE);
  await analyze(run.claim, never);
  await analyze(run.claim, never);
  await world.store.release(run.id, run.token);
  const claim = await claimNext(world.store);
  const findings = await finished(world, { ...run, token: claim.token }, await analyze(claim, never));
  expect(findings.map(({ ordinal }) => ordinal)).toEqual([0, 1, 2, 3, 4, 5]);
});

test('a lease that another worker holds ends the analysis with LeaseLost, and none of its findings are read', async () => {
  const world = await openWorld();
  const run = await world.running();
  await fetched(world, run, SITE);
  await world.store.release(run.id, run.token);
  const claim = await claimNext(world.store);
  await expect(createAnalyze({ store: world.store, rules })(run.claim, never)).rejects.toBeInstanceOf(LeaseLost);
  expect(await finished(world, { ...run, token: claim.token }, 0)).toEqual([]);
});

test('an aborted analysis throws the reason', async () => {
  const world = await openWorld();
  const run = await world.running();
  await fetched(world, run, SITE);
  const reason = new Error('the process stops');
  await expect(createAnalyze({ store: world.store, rules })(run.claim, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test('a crawl keeps 10,000 findings of a rule, and those of other rules all the same', async () => {
  const world = await openWorld();
  const run = await world.running();
  await fetched(world, run, SITE);
  const writer = createFindingWriter(world.store, run.claim);
  for (let seq = 0; seq <= MAX_FINDINGS_PER_RULE; seq++) writer.add(titleMissing, page(seq), {});
  expect([writer.isFull(titleMissing), writer.isFull(httpClientError)]).toEqual([true, false]);
  writer.add(httpClientError, page(1), { status: 404 });
  await writer.flush();
  const findings = await finished(world, run, writer.count());
  expect(findings.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: MAX_FINDINGS_PER_RULE + 1 }, (_, ordinal) => ordinal));
  expect(findings.filter(({ rule }) => rule === 'http.client_error')).toHaveLength(1);
});
