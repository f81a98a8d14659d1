import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import type { Store } from '#store/store.ts';
import { claimNext, createTenant, LEASE_MS, newCrawl, newToken } from '../contract/world.ts';
import { openSqliteBeside } from './beside.ts';
import { DataInUse } from './data-lock.ts';
import { cutFile, faultFile } from './fixtures/files.ts';
import { newFolder, openOn } from './fixtures/harness.ts';
import type { SqliteStore } from './open.ts';

const FAULTY = new URL('./fixtures/faulty-store-thread.ts', import.meta.url);
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function newPath(): string {
  const { path, remove } = newFolder();
  cleanups.push(remove);
  return path;
}
async function opened(path: string, entry?: URL): Promise<SqliteStore> {
  const sqlite = await openOn(path, entry);
  cleanups.push(() => sqlite.store.close());
  return sqlite;
}

/** Lets the store thread end at its next commit, after it but before the answer, and its successor live. */
function killOnce(path: string, sqlite: SqliteStore): Promise<void> {
  writeFileSync(faultFile(path), JSON.stringify({ cutAfter: 0, reply: 'kept' }));
  return new Promise((resolve) => {
    const stop = sqlite.onExit(() => {
      rmSync(faultFile(path));
      rmSync(cutFile(path));
      stop();
      resolve();
    });
  });
}

test('when the store thread ends, calls under way reject as unavailable, and later ones go to the next thread', async () => {
  const path = newPath();
  const sqlite = await opened(path, FAULTY);
  const { store } = sqlite;
  const tenant = await createTenant(store);
  const crawls = [newCrawl(tenant), newCrawl(tenant), newCrawl(tenant)];
  const exited = killOnce(path, sqlite);
  const outcomes = await Promise.allSettled(crawls.map((crawl) => store.createCrawl(crawl)));
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'Refusal', code: 'unavailable' } });
  await exited;
  for (const crawl of crawls) expect(await store.createCrawl(crawl)).toMatchObject({ kind: 'created' });
  expect(await store.countCrawls(tenant.organizationId, {}, 10)).toBe(3);
});

test('reads go on while the store thread is dead', async () => {
  const path = newPath();
  const { store, onExit } = await opened(path, FAULTY);
  const tenant = await createTenant(store);
  const { id } = await tenant.start();
  const exited = new Promise<void>((resolve) => onExit(resolve));
  writeFileSync(faultFile(path), JSON.stringify({ cutAfter: 0, reply: 'kept' }));
  await expect(store.createCrawl(newCrawl(tenant))).rejects.toMatchObject({ code: 'unavailable' });
  await exited;
  expect(await store.getCrawl(tenant.organizationId, id)).toMatchObject({ id });
});

async function linked(path: string, sqlite: SqliteStore) {
  const link = sqlite.link();
  const thread = new Worker(new URL('./fixtures/linked-thread.ts', import.meta.url), { workerData: { path, link }, transferList: [link] });
  cleanups.push(() => thread.terminate());
  return async (method: keyof Store, ...args: unknown[]): Promise<unknown> => {
    thread.postMessage([method, ...args]);
    const [answer] = await once(thread, 'message');
    return answer;
  };
}

test('a linked thread writes and reads, and each thread sees what the other was told is written', async () => {
  const path = newPath();
  const sqlite = await opened(path);
  const call = await linked(path, sqlite);
  const tenant = await createTenant(sqlite.store);
  const snapshot = await tenant.start();
  expect(await call('getCrawl', tenant.organizationId, snapshot.id)).toEqual({ value: snapshot });
  const token = newToken();
  expect(await call('claim', token, LEASE_MS)).toMatchObject({ value: { snapshot, token } });
  expect(await sqlite.store.heartbeat(snapshot.id, token, LEASE_MS)).not.toBe('lost');
  expect(await call('close')).toEqual({ value: undefined });
  expect(await sqlite.store.heartbeat(snapshot.id, token, LEASE_MS)).not.toBe('lost');
});

test('a link outlives the store thread, keeps its leases, and is told apart from a lost one', async () => {
  const path = newPath();
  const sqlite = await opened(path, FAULTY);
  const call = await linked(path, sqlite);
  const tenant = await createTenant(sqlite.store);
  const { id } = await tenant.start();
  const token = newToken();
  await call('claim', token, LEASE_MS);
  const exited = killOnce(path, sqlite);
  expect(await call('heartbeat', id, token, LEASE_MS)).toEqual({ refused: 'unavailable' });
  await exited;
  expect(await call('heartbeat', id, token, LEASE_MS)).toMatchObject({ value: { cancelRequested: false } });
});

test('a link whose process closed the store refuses as unavailable', async () => {
  const path = newPath();
  const sqlite = await opened(path);
  const call = await linked(path, sqlite);
  await call('ping');
  await sqlite.store.close();
  expect(await call('ping')).toEqual({ refused: 'unavailable' });
});

test('a second server on the directory is refused by name, until the first has closed', async () => {
  const path = newPath();
  const { store } = await opened(path);
  const second = openOn(path);
  await expect(second).rejects.toThrow(DataInUse);
  await expect(second).rejects.toThrow(dirname(path));
  await store.ping();
  await store.close();
  await expect((await opened(path)).store.ping()).resolves.toBeUndefined();
});

test('closed while the next store thread starts, it leaves nothing that keeps its process', async () => {
  const closing = spawn(process.execPath, [fileURLToPath(new URL('./fixtures/closing-process.ts', import.meta.url)), newPath()], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  cleanups.push(() => closing.kill('SIGKILL'));
  expect(await once(closing, 'exit')).toEqual([0, null]);
});

test('a killed server leaves no lock behind, and the next one expires its leases as a loss each', async () => {
  const path = newPath();
  const server = spawn(process.execPath, [fileURLToPath(new URL('./fixtures/server-process.ts', import.meta.url)), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(server.stdout, 'data');
  await expect(openOn(path)).rejects.toThrow(DataInUse);
  const beside = await openSqliteBeside({ path });
  cleanups.push(() => beside.close());
  const tenant = await createTenant(beside);
  const { id } = await tenant.start();
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
  for (let losses = 1; losses <= 5; losses++) {
    await claimNext(beside);
    const { store } = await openOn(path);
    const expected = losses < 5 ? { state: 'running' } : { state: 'failed', endReason: 'worker_lost' };
    expect(await store.getCrawl(tenant.organizationId, id)).toMatchObject(expected);
    await store.close();
  }
});

test('a store beside a server and the server see each other’s writes', async () => {
  const path = newPath();
  const { store } = await opened(path);
  const beside = await openSqliteBeside({ path });
  cleanups.push(() => beside.close());
  const tenant = await createTenant(beside);
  expect(await store.findOrganization(tenant.organizationId)).not.toBeNull();
  const { id } = await tenant.start();
  await claimNext(store);
  expect(await beside.deleteCrawl(tenant.organizationId, id)).toBe('not_final');
});

test('many writes from a server and from beside it at once are all stored', async () => {
  const path = newPath();
  const { store } = await opened(path);
  const beside = await openSqliteBeside({ path });
  cleanups.push(() => beside.close());
  const tenants = await Promise.all(Array.from({ length: 40 }, (_, index) => createTenant(index % 2 === 0 ? store : beside)));
  expect(tenants).toHaveLength(40);
  expect(await store.listOrganizations()).toHaveLength(40);
});

test('a lock that is given back within five seconds only delays writes; a longer one refuses them; the thread is never blocked', async () => {
  const path = newPath();
  const { store } = await opened(path);
  const beside = await openSqliteBeside({ path });
  cleanups.push(() => beside.close());
  const other = new DatabaseSync(path);
  cleanups.push(() => other.close());

  other.exec('begin immediate');
  const delayed = [createTenant(store), createTenant(beside)];
  setTimeout(() => other.exec('commit'), 100);
  await Promise.all(delayed);

  other.exec('begin immediate');
  let [ticks, last, longest] = [0, performance.now(), 0];
  const ticking = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    [ticks, last] = [ticks + 1, now];
  }, 10);
  const start = performance.now();
  const refused = await Promise.allSettled([createTenant(store), createTenant(beside)]);
  const waited = performance.now() - start;
  clearInterval(ticking);
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: 'unavailable', facts: { retryAfterMs: 5_000 } } });
  expect(waited).toBeGreaterThan(4_900);
  expect(waited).toBeLessThan(15_000);
  expect(ticks).toBeGreaterThan(50);
  expect(longest).toBeLessThan(4_000); // blocked it would be five seconds
  expect(await store.listOrganizations()).toHaveLength(2);
  other.exec('rollback');
  await createTenant(store);
});

test('a database of a newer version is refused, and nothing is held afterwards', async () => {
  const path = newPath();
  await (await openOn(path)).store.close();
  const db = new DatabaseSync(path);
  const version = db.prepare('pragma user_version').get()?.user_version;
  db.exec('pragma user_version = 99');
  await expect(openOn(path)).rejects.toThrow(/schema 99/);
  await expect(openSqliteBeside({ path })).rejects.toThrow(/schema 99/);
  db.exec(`pragma user_version = ${version}`);
  db.close();
  await opened(path);
});

test('a closed store refuses everything as unavailable, and closing again is the same closing', async () => {
  const { store } = await opened(newPath());
  const writing = createTenant(store);
  await writing;
  expect(store.close()).toBe(store.close());
  await store.close();
  await expect(store.ping()).rejects.toMatchObject({ code: 'unavailable' });
  await expect(store.listOrganizations()).rejects.toMatchObject({ code: 'unavailable' });
});

test('leases of holders that are known to have ended are taken away at once, and their tokens are lost', async () => {
  const { store, expireLeases } = await opened(newPath());
  const tenant = await createTenant(store);
  const { id } = await tenant.start();
  const { token } = await claimNext(store);
  expect(await store.claim(newToken(), LEASE_MS)).toBeNull();
  expect(await expireLeases()).toEqual([]);
  expect(await store.heartbeat(id, token, LEASE_MS)).toBe('lost');
  expect(await store.claim(newToken(), LEASE_MS)).toMatchObject({ snapshot: { id } });
});
