import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '#config/config.ts';
import type { Caller } from '#domain/account.ts';
import { MOST_MAX_URLS } from '#domain/crawl.ts';
import type { Service } from '#service/service.ts';
import { createStderrLog } from '#telemetry.ts';
import { STOP_LIMITS } from './backend.ts';
import { createBackendCrawler } from './backend-crawler.ts';
import { createBackendService } from './backend-service.ts';
import { ensureDefaultAccount } from './first-start.ts';
import { createProcessMetrics } from './metrics.ts';
import { createShutdown } from './shutdown.ts';
import { openSqliteBackend } from './sqlite-backend.ts';
import { setThreadFlags } from './thread-flags.ts';

/** The whole service for this process alone: it listens nowhere, and its store is removed when it closes. */
export type PrivateService = {
  readonly service: Service;
  /** Its only key, which may do everything. */
  readonly caller: Caller;
  /** Bounded; never rejects. Memoised. */
  close(): Promise<void>;
};

export type PrivateServiceOptions = {
  /** Where it stores is not taken from here. */
  readonly config: Config;
  /** Aborted when the close is to be cut short. */
  readonly cut: AbortSignal;
};

const FILES_MS = 1_000;

/** Throws, with everything stopped and removed, when a part cannot start. */
export async function openPrivateService({ config: given, cut }: PrivateServiceOptions): Promise<PrivateService> {
  const dataDir = mkdtempSync(join(tmpdir(), 'crawlgate-'));
  const path = join(dataDir, 'crawlgate.db');
  const config: Config = {
    ...given,
    dataDir,
    store: { kind: 'sqlite', path },
    apiKey: null,
    monthlyUrlQuota: MOST_MAX_URLS,
    logLevel: 'error', // what a person reads stands on stderr, too
  };
  const log = createStderrLog(config.logLevel);
  const shutdown = createShutdown(log, cut);
  shutdown.add('files', FILES_MS, () => rmSync(dataDir, { recursive: true, force: true }));
  try {
    setThreadFlags(config);
    const metrics = createProcessMetrics();
    const backend = await openSqliteBackend({ config, log, shutdown, metrics, signal: cut }, path);
    const { store } = backend;
    const service = createBackendService({ config, store, front: await backend.openFront(), log });
    const keyNews = await ensureDefaultAccount({ accounts: store, config, isTerminal: true, makesSecret: true });
    if (keyNews.kind !== 'made') throw new Error(`${dataDir} was not empty`);
    const caller = await service.authenticate(keyNews.secret);
    const crawler = createBackendCrawler({ config, backend, metrics, log, contact: () => config.publicUrl });
    shutdown.add('crawler', STOP_LIMITS.crawler, crawler.stop);
    shutdown.add('watchers', STOP_LIMITS.bus, service.stopWatching);
    crawler.start();
    return { service, caller, close: shutdown.run };
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}
