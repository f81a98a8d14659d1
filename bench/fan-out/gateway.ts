// crawlgate's gateway with its real store, bus and service; what a worker would publish is made up here, with the time in `error`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalBus } from '#bus/local.ts';
import { SCOPES } from '#domain/account.ts';
import { DEFAULT_KEY_ID, DEFAULT_ORGANIZATION_ID } from '#domain/ids.ts';
import { newSecret, storedSecretOf } from '#domain/key-secret.ts';
import { createHttpServer } from '#http/server.ts';
import { createService } from '#service/service.ts';
import { openSqliteStore } from '#store/sqlite/open.ts';
import { createLog } from '#telemetry.ts';
import { systemTimers } from '#worker/timers.ts';
import { clockMs, serve } from './messages.ts';

const directory = mkdtempSync(join(tmpdir(), 'crawlgate-fan-out-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
const log = createLog('warn', process.stderr);
const threadEntry = new URL('../../src/compose/store-thread.ts', import.meta.url);
const { store } = await openSqliteStore({ path: join(directory, 'crawlgate.db'), threadEntry, log });
const key = newSecret();
await store.ensureDefaults(
  { id: DEFAULT_ORGANIZATION_ID, name: 'default', monthlyUrlQuota: 100_000 },
  { id: DEFAULT_KEY_ID, organizationId: DEFAULT_ORGANIZATION_ID, name: 'default', scopes: SCOPES, ...storedSecretOf(key) },
);
const bus = createLocalBus({ log });
const timers = systemTimers;
const service = createService({ store, bus, describeRule: () => null, allowedNetworks: [], readLimitPerMinute: 600, timers, log });
const http = createHttpServer({ service, log, publicUrl: null, isReady: () => true, timers, corsOrigins: [] });
const { port } = await http.listen({ host: '127.0.0.1', port: 0 });
const caller = await service.authenticate(key);
const { snapshot } = await service.startCrawl({ url: 'https://example.com/' }, caller);

let version = snapshot.version;
serve({ port, key, crawlId: snapshot.id }, () => {
  version++;
  const counters = { ...snapshot.counters, discovered: version, fetched: version };
  void bus.publish({ ...snapshot, counters, version, error: String(clockMs()) });
});
