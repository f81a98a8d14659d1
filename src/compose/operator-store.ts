import type { Config } from '#config/config.ts';
import { openSqliteBeside } from '#store/sqlite/beside.ts';
import type { Store } from '#store/store.ts';
import { createStderrLog } from '#telemetry.ts';
import { ensureDataDir } from './data-dir.ts';

/** The store for an operator's command, beside running servers or without one. Whoever opens it closes it. */
export async function openOperatorStore(config: Config): Promise<Store> {
  const { store, dataDir } = config;
  if (store.kind === 'mongodb') {
    const { openMongo } = await import('./open-mongo.ts'); // what only one of the stores needs is loaded with it
    const log = createStderrLog('silent'); // the command itself tells what fails
    return openMongo({ config, url: store.url, log, waitMs: 0, signal: new AbortController().signal });
  }
  ensureDataDir(dataDir);
  return openSqliteBeside({ path: store.path });
}
