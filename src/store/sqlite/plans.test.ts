import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { CrawlId, LeaseToken, OrganizationId } from '#domain/ids.ts';
import type { NewOrganization } from '../account-store.ts';
import { batchOf, discovered, fetched, thisMonth } from '../contract/pages.ts';
import { newCrawl, newKey, newToken } from '../contract/world.ts';
import { COPY_KINDS, type CopyKind, type CopyOwner } from '../copy-store.ts';
import type { CrawlFilter } from '../crawl-store.ts';
import { prepareWriter } from './database.ts';
import { createReads, createWrites, type Reads, type Writes } from './operations.ts';
import { createSql, type Sql } from './sql.ts';

/** Read from their start, a bounded number of rows; or as small as the number of organizations. */
const READ_IN_ORDER = ['organizations', 'sqlite_sequence', 'outbox', 'trash', 'json_each', 'waiting', 'CONSTANT ROW', '(subquery-'];
/** Sorts the organizations that wait, one row each. */
const SORTS_ORGANIZATIONS = 'with recursive waiting';

function recorded<T extends Reads | Writes>(operations: T, called: Set<string>): T {
  return new Proxy(operations, {
    get(target, name, receiver) {
      called.add(String(name));
      return Reflect.get(target, name, receiver);
    },
  });
}

/** Calls every operation, in each form that makes another statement; answers the statements. */
function exerciseAll(sql: Sql): string[] {
  const called = new Set<string>();
  const [allReads, allWrites] = [createReads(sql, Date.now), createWrites(sql, Date.now)];
  const [reads, writes] = [recorded(allReads, called), recorded(allWrites, called)];

  const organization: NewOrganization = { id: randomUUID() as never, name: 'one', monthlyUrlQuota: 1_000 };
  const key = newKey(organization.id);
  writes.ping();
  writes.ensureDefaults(organization, key);
  writes.createOrganization({ ...organization, id: randomUUID() as never, name: 'two' });
  writes.setMonthlyUrlQuota(organization.id, 2_000);
  const { id: keyId } = writes.createKey(newKey(organization.id));
  writes.rotateKey(keyId, { secretHash: 'h', prefix: 'p' });
  writes.revokeKey(writes.createKey(newKey(organization.id)).id);
  reads.listOrganizations();
  reads.findOrganization('one');
  reads.listKeys(organization.id);
  reads.findKey(keyId);
  reads.findKeyBySecret(key.secretHash);

  const start = (): CrawlId => {
    const crawl = newCrawl({ organizationId: organization.id, keyId }, { idempotency: { key: randomUUID(), requestHash: 'r' } });
    writes.createCrawl(crawl);
    return crawl.id;
  };
  const claim = (): { id: CrawlId; token: LeaseToken } => {
    const claimed = writes.claim(newToken(), 60_000);
    if (claimed === null) throw new Error('nothing to claim');
    return { id: claimed.snapshot.id, token: claimed.token };
  };
  writes.cancelCrawl(organization.id, start());
  start();
  const { id, token } = claim();
  writes.heartbeat(id, token, 60_000);
  reads.getQueue();
  writes.grantQuota(id, token, thisMonth(), 10);
  writes.commitPages(id, token, batchOf(1, { discovered: [discovered(0), discovered(1)], results: [fetched(0)] }));
  writes.beginAnalysis(id, token, { endReason: 'completed', error: null });
  const finding = { ordinal: 0, fingerprint: 'f', rule: 'r', severity: 'low', pageSeq: 0, url: null, evidence: {} } as const;
  writes.addFindings(id, token, [finding]);
  reads.readFrontier(id, token, -1, 10);
  reads.readPages(id, token, -1, 10);
  reads.readPagesBySeq(id, token, [0]);
  writes.finish(id, token, { endReason: 'completed', error: null }, 1);
  start();
  reads.whoYields([organization.id]);
  const second = claim();
  writes.cancelCrawl(organization.id, second.id);
  writes.release(second.id, second.token);
  claim();
  writes.reapLeases();
  for (let losses = 0; losses < 5; losses++) {
    writes.expireLeases();
    if (losses < 4) claim();
  }

  const site = reads.listSites({ organizationId: organization.id, limit: 10 })[0]?.id;
  if (site === undefined) throw new Error('no site');
  reads.getSites(organization.id, [site]);
  reads.getStartAllowance(keyId);
  reads.getCrawl(organization.id, id);
  reads.getSnapshots([id]);
  reads.getVersions([{ organizationId: organization.id, id }]);
  reads.listChanged(organization.id, 0, 10);
  reads.getUsage(organization.id);
  const place = { startedAt: 1, id };
  for (const siteId of [undefined, site])
    for (const state of [undefined, 'done'] as const)
      for (const host of [undefined, 'example.com']) {
        const filter: CrawlFilter = { ...(siteId && { siteId }), ...(state && { state }), ...(host && { host }) };
        reads.countCrawls(organization.id, filter, 10);
        for (const sides of [{}, { after: place }, { before: place }, { after: place, before: place }])
          reads.listCrawls({ organizationId: organization.id, ...filter, ...sides, limit: 10 });
      }
  reads.getQueuePositions(organization.id, [id]);
  for (const status of [undefined, 'queued'] as const) reads.listPages(organization.id, id, { ...(status && { status }), limit: 10 });
  for (const severity of [undefined, 'low'] as const)
    for (const rule of [undefined, 'r'])
      reads.listFindings(organization.id, id, { ...(severity && { severity }), ...(rule && { rule }), limit: 10 });

  writes.putRobots('https://a', { status: 200, body: '', error: null, fetchedAt: 0, expiresAt: 1 });
  reads.getRobots('https://a');
  reads.now();
  writes.acquireLeadership('one', 1_000);
  writes.relayEvents(10);
  reads.listEvents(organization.id, 0, 10);
  copyAll(reads, writes, organization.id, id);
  reads.countLiveLeases();
  writes.deleteCrawl(organization.id, id);
  while (writes.sweep({ crawlsMs: -1_000, idempotencyMs: -1_000 }) > 0);
  removeOne(reads, writes);

  expect([...called].sort()).toEqual([...Object.keys(allReads), ...Object.keys(allWrites)].sort());
  return sql.texts();
}

/** An organization with a crawl, and another crawl of which only pages have been copied in. */
function removeOne(reads: Reads, writes: Writes): void {
  const organization: NewOrganization = { id: randomUUID() as never, name: 'removed', monthlyUrlQuota: 10 };
  writes.createOrganization(organization);
  const { id: keyId } = writes.createKey(newKey(organization.id));
  const crawl = newCrawl({ organizationId: organization.id, keyId });
  writes.createCrawl(crawl);
  const page = { ...discovered(0), ...fetched(0) };
  writes.insertCopies('page', { organizationId: organization.id, crawlId: randomUUID() as CrawlId }, [page]);
  writes.beginOrganizationRemoval(organization.id);
  expect(reads.listOrganizationRemovals()).toHaveLength(1);
  while (writes.continueOrganizationRemoval(organization.id) > 0);
  expect(reads.listOrganizationRemovals()).toEqual([]);
}

/** Every method of the copies, for each kind. */
function copyAll(reads: Reads, writes: Writes, organizationId: OrganizationId, crawlId: CrawlId): void {
  const copy = <Kind extends CopyKind>(kind: Kind, owner: CopyOwner<Kind>): void => {
    const records = reads.readCopies(kind, owner, null, 10);
    reads.findCopies(kind, owner, records);
    reads.countCopies(kind, organizationId);
    expect(records).not.toEqual([]);
    writes.insertCopies(kind, owner, records);
  };
  const owner = { organizationId, crawlId };
  for (const kind of COPY_KINDS) copy(kind, owner);
  // Of a crawl that is not there yet.
  const [crawl] = reads.readCopies('crawl', owner, null, 1);
  if (crawl === undefined) throw new Error('no crawl');
  const holds = [{ month: thisMonth(), granted: 2, used: 1 }];
  const coming = { ...crawl, id: randomUUID() as CrawlId, holds };
  writes.insertCopies('page', { organizationId, crawlId: coming.id }, reads.readCopies('page', owner, null, 1));
  writes.insertCopies('crawl', owner, [coming]);
}

function open(): { db: DatabaseSync; texts: string[] } {
  const db = new DatabaseSync(':memory:');
  prepareWriter(db);
  return { db, texts: exerciseAll(createSql(db)) };
}

const planOf = (db: DatabaseSync, text: string): string[] =>
  db
    .prepare(`explain query plan ${text}`)
    .all()
    .map((row) => String(row.detail));

test('no statement of the store scans a table or sorts what it reads', () => {
  const { db, texts } = open();
  const wrong = texts.flatMap((text) =>
    planOf(db, text)
      .filter((step) => {
        if (step.startsWith('SCAN ')) return !READ_IN_ORDER.some((name) => step.startsWith(`SCAN ${name}`));
        return step.startsWith('USE TEMP B-TREE') && !text.includes(SORTS_ORGANIZATIONS);
      })
      .map((step) => `${step}: ${text}`),
  );
  expect(texts.length).toBeGreaterThan(80);
  expect(wrong).toEqual([]);
});

// Each discovered page looked through all pages of its crawl for its URL: 6,000 pages with long URLs took minutes.
test('no statement reads all pages of a crawl, but for those that end by a limit or count them', () => {
  const { db, texts } = open();
  const whole = texts.filter((text) => planOf(db, text).some((step) => /^SEARCH pages USING [\w ]+ \(crawl=\?\)$/.test(step)));
  expect(whole.filter((text) => !/order by seq limit \?\d?\b|^select count\(\*\)/.test(text))).toEqual([]);
});

test('a list of crawls seeks its place by the last item that was given out, whatever the filter', () => {
  const { db, texts } = open();
  const lists = texts.filter((text) => text.includes('(started_at, id) <') && !text.includes('(started_at, id) >'));
  expect(lists).toHaveLength(8);
  for (const text of lists)
    expect(planOf(db, text).join()).toMatch(/SEARCH crawls USING INDEX \w+ \(organization_id=\?.*AND \(started_at,id\)</);
});

test('the check sees a scan', () => {
  const { db } = open();
  expect(planOf(db, 'select * from crawls where url = 1')).toEqual(['SCAN crawls']);
  expect(planOf(db, 'select * from pages where crawl = 1 order by depth').join()).toContain('USE TEMP B-TREE');
});
