import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { DEFAULT_ORGANIZATION_ID, siteIdOf } from '#domain/ids.ts';
import { storedSecretOf } from '#domain/key-secret.ts';

/** Opens the database of a service that has run once and does not run now, for writing in bulk what the API would take hours for. */
function inBulk(databaseFile: string, write: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(databaseFile);
  try {
    database.exec('pragma synchronous = off; begin immediate');
    write(database);
    database.exec('commit; pragma wal_checkpoint(truncate); pragma optimize');
  } finally {
    database.close();
  }
}

/** Final crawls of the default organization, one each second up to now, on a hundred sites. */
export function seedCrawls(databaseFile: string, count: number): void {
  const now = Date.now();
  inBulk(databaseFile, (database) => {
    const insert = database.prepare(
      `insert into crawls (id, organization_id, site_id, url, host, authority, state, phase, end_reason, max_urls, max_depth, discovered,
         fetched, findings_count, started_at, finished_at, changed_at, version)
       values (?, ?, ?, ?, ?5, ?5, 'done', 'finished', 'completed', 500, 3, 120, 120, 7, ?6, ?7, ?7, 9)`,
    );
    const hosts = Array.from({ length: 100 }, (_, i) => `site-${i}.example`);
    const sites = hosts.map((host) => siteIdOf(DEFAULT_ORGANIZATION_ID, host));
    const site = database.prepare(
      'insert into sites (id, organization_id, host, authority, first_crawled_at, last_crawled_at) values (?, ?, ?3, ?3, ?, ?)',
    );
    for (const [i, host] of hosts.entries()) site.run(sites[i] ?? '', DEFAULT_ORGANIZATION_ID, host, now - count * 1000, now);
    for (let i = 0; i < count; i++) {
      const host = hosts[i % hosts.length] ?? '';
      const at = now - (count - i) * 1000;
      insert.run(randomUUID(), DEFAULT_ORGANIZATION_ID, sites[i % sites.length] ?? '', `https://${host}/`, host, at, at + 900);
    }
  });
}

/** Keys of the default organization, with the secrets that `secretOf` gives. */
export function seedKeys(databaseFile: string, count: number, secretOf: (index: number) => string): void {
  inBulk(databaseFile, (database) => {
    const insert = database.prepare(
      'insert into api_keys (id, organization_id, name, secret_hash, prefix, scopes, created_at) values (?, ?, ?, ?, ?, ?, ?)',
    );
    for (let i = 0; i < count; i++) {
      const { secretHash, prefix } = storedSecretOf(secretOf(i));
      insert.run(randomUUID(), DEFAULT_ORGANIZATION_ID, `bench ${i}`, secretHash, prefix, '["crawls:read","crawls:write"]', Date.now());
    }
  });
}

/** A count, read beside a running service. */
export function countRows(databaseFile: string, table: 'crawls' | 'api_keys'): number {
  const database = new DatabaseSync(databaseFile, { readOnly: true });
  try {
    return Number(database.prepare(`select count(*) as count from ${table}`).get()?.count);
  } finally {
    database.close();
  }
}

/** The ids of some crawls. */
export function someCrawlIds(databaseFile: string, count: number): string[] {
  const database = new DatabaseSync(databaseFile, { readOnly: true });
  try {
    return database
      .prepare('select id from crawls limit ?')
      .all(count)
      .map(({ id }) => String(id));
  } finally {
    database.close();
  }
}
