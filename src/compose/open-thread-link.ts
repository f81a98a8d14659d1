import type { Bus } from '#bus/bus.ts';
import { createLocalBus } from '#bus/local.ts';
import { createRedisBus } from '#bus/redis.ts';
import { linkSqliteStore } from '#store/sqlite/link.ts';
import type { Store } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import type { Config } from '../config.ts';
import type { ThreadLink } from './backend.ts';
import { noteLeases } from './held-leases.ts';
import { openMongo } from './open-mongo.ts';

type Options = { readonly config: Config; readonly log: Log; readonly signal: AbortSignal };

/** The store and the bus of a crawler thread. Waits for a store that does not answer until `signal` is aborted. */
export async function openThreadLink(link: ThreadLink, { config, log, signal }: Options): Promise<{ store: Store; bus: Bus }> {
  if (link.kind === 'sqlite') {
    const bus = createLocalBus({ log });
    bus.attach(link.busPort);
    return { store: linkSqliteStore({ path: link.path, port: link.storePort }), bus };
  }
  const { leasePort } = link;
  const opened = await openMongo({ config, url: link.storeUrl, log, waitMs: Number.POSITIVE_INFINITY, signal });
  const bus = createRedisBus({ url: link.busUrl, log });
  await bus.started;
  const close = (): Promise<void> => opened.close().finally(() => leasePort.close());
  return { store: { ...noteLeases(opened, leasePort), close }, bus };
}
