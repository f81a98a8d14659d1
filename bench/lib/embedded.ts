import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalBus } from '#bus/local.ts';
import { SCOPES } from '#domain/account.ts';
import { DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID } from '#domain/ids.ts';
import { newSecret, storedSecretOf } from '#domain/key-secret.ts';
import { api } from '#http/api.ts';
import { createHttpServer } from '#http/server.ts';
import { createService } from '#service/service.ts';
import { openSqliteStore } from '#store/sqlite/open.ts';
import { createLog } from '#telemetry.ts';
import { systemTimers as timers } from '#worker/timers.ts';

/** crawlgate's gateway inside the process of a bench, with the real store, bus and service, on a file that goes with the process. */
export async function openEmbedded(name: string) {
  const directory = mkdtempSync(join(tmpdir(), `crawlgate-${name}-`));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const log = createLog('warn', process.stderr);
  const path = join(directory, 'crawlgate.db');
  const sqlite = await openSqliteStore({ path, threadEntry: new URL('../../src/compose/store-thread.ts', import.meta.url), log });
  const { store } = sqlite;
  const key = newSecret();
  await store.ensureDefaults(
    { id: DEFAULT_ORGANIZATION_ID, name: 'default', monthlyUrlQuota: 100_000 },
    { id: DEFAULT_KEY_ID, organizationId: DEFAULT_ORGANIZATION_ID, name: 'default', scopes: SCOPES, ...storedSecretOf(key) },
  );
  const bus = createLocalBus({ log });
  const service = createService({ store, bus, describeRule: () => null, allowedNetworks: [], readLimitPerMinute: 600, timers, log });
  const { snapshot } = await service.startCrawl({ url: 'https://example.com/', maxUrls: 10_000 }, await service.authenticate(key));

  /** Answers the port. */
  async function listen(): Promise<number> {
    const http = createHttpServer({ service, api, log, publicUrl: null, isReady: () => true, timers, corsOrigins: [] });
    return (await http.listen({ host: '127.0.0.1', port: 0 })).port;
  }

  /** `snapshot` is of a crawl that waits for a worker. */
  return { path, key, bus, snapshot, listen, link: sqlite.link };
}
