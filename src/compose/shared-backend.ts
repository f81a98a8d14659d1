import { MessageChannel } from 'node:worker_threads';
import { createRedisBus } from '#bus/redis.ts';
import { createRedisRequestCounter } from '#limiter/redis.ts';
import { REQUEST_WINDOW_MS } from '#service/limit-requests.ts';
import { pause, systemTimers } from '#worker/timers.ts';
import { type Backend, type BackendDeps, type SharedLink, STOP_LIMITS, type ThreadParts } from './backend.ts';
import { createHeldLeases, noteLeases } from './held-leases.ts';
import { openMongo } from './open-mongo.ts';

/** A start waits at most this long for Redis. */
const REDIS_MS = 2_000;

/** One of many processes on MongoDB and Redis. A Redis that is away does not hinder the start. */
export async function openSharedBackend(
  { config, log, shutdown, signal }: BackendDeps,
  urls: { readonly storeUrl: string; readonly busUrl: string },
): Promise<Backend> {
  const { storeUrl, busUrl } = urls;
  const store = await openMongo({ config, url: storeUrl, log, waitMs: config.storeWaitSeconds * 1_000, signal });
  shutdown.add('store', STOP_LIMITS.store, store.close);
  const leases = createHeldLeases(store);
  return {
    store,
    async openFront() {
      const bus = createRedisBus({ url: busUrl, log });
      const counter = config.readLimitPerMinute === 0 ? null : createRedisRequestCounter({ url: busUrl, log, windowMs: REQUEST_WINDOW_MS });
      shutdown.add('bus', STOP_LIMITS.bus, async () => void (await Promise.all([bus.close(), counter?.close()])));
      await inTime(Promise.all([bus.started, counter?.started]), signal);
      return { bus, ...(counter !== null && { requestCounter: counter }) };
    },
    linkThread() {
      const { port1, port2: leasePort } = new MessageChannel();
      leases.follow(port1);
      return { link: { kind: 'shared', ...urls, leasePort }, transferList: [leasePort] };
    },
    loseThread: leases.expire,
  };
}

/** The store and the bus of a crawler thread, which waits for its store until `signal` is aborted. */
export async function openSharedLink(link: SharedLink, { config, log, signal }: Omit<BackendDeps, 'shutdown'>): Promise<ThreadParts> {
  const { storeUrl, busUrl, leasePort } = link;
  const store = await openMongo({ config, url: storeUrl, log, waitMs: Number.POSITIVE_INFINITY, signal });
  const bus = createRedisBus({ url: busUrl, log });
  await inTime(bus.started, signal);
  const close = (): Promise<void> => store.close().finally(() => leasePort.close());
  return { store: { ...noteLeases(store, leasePort), close }, bus };
}

async function inTime(started: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  await Promise.race([started, pause(systemTimers, REDIS_MS, AbortSignal.any([signal, over.signal]))]);
  over.abort();
}
