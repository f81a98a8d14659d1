import { openSqliteBeside } from '#store/sqlite/beside.ts';
import type { Store } from '#store/store.ts';
import type { Config } from '../config.ts';
import { ensureDataDir } from './data-dir.ts';

/** The store for an operator's command, beside a running server or without one. Whoever opens it closes it. */
export function openOperatorStore(config: Config): Promise<Store> {
  ensureDataDir(config.dataDir);
  return openSqliteBeside({ path: config.storePath });
}
