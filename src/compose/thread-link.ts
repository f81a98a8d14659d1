import { createLocalBus } from '#bus/local.ts';
import { linkSqliteStore } from '#store/sqlite/link.ts';
import type { Log } from '#telemetry.ts';
import type { Config } from '../config.ts';
import type { ThreadLink, ThreadParts } from './backend.ts';

type Options = { readonly config: Config; readonly log: Log; readonly signal: AbortSignal };

/** The store and the bus of a crawler thread. Waits for a store that does not answer until `signal` is aborted. */
export async function openThreadLink(link: ThreadLink, options: Options): Promise<ThreadParts> {
  if (link.kind === 'shared') return (await import('./shared-backend.ts')).openSharedLink(link, options);
  const bus = createLocalBus({ log: options.log });
  bus.attach(link.busPort);
  return { store: linkSqliteStore({ path: link.path, port: link.storePort }), bus };
}
