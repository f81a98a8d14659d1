import { describeRule } from '#analysis/registry.ts';
import type { Config } from '#config/config.ts';
import { parseNetwork } from '#domain/address.ts';
import { createService, type Service } from '#service/service.ts';
import type { Store } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { systemTimers } from '#worker/timers.ts';
import type { Front } from './backend.ts';

type Deps = {
  readonly config: Pick<Config, 'allowNetworks' | 'readLimitPerMinute'>;
  /** That of the backend, as this process is to use it. */
  readonly store: Store;
  readonly front: Front;
  readonly log: Log;
};

/** The use cases of a process, on the store and the bus of its backend. */
export const createBackendService = ({ config, store, front, log }: Deps): Service =>
  createService({
    store,
    ...front,
    describeRule,
    allowedNetworks: config.allowNetworks.map(parseNetwork),
    readLimitPerMinute: config.readLimitPerMinute,
    timers: systemTimers,
    log,
  });
