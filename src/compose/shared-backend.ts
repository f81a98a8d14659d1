import { MessageChannel } from 'node:worker_threads';
import { createRedisBus } from '#bus/redis.ts';
import { createRedisRequestCounter } from '#limiter/redis.ts';
import { REQUEST_WINDOW_MS } from '#service/limit-requests.ts';
import { type Backend, type BackendDeps, STOP_LIMITS } from './backend.ts';
import { createHeldLeases } from './held-leases.ts';
import { openMongo } from './open-mongo.ts';

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
      await Promise.all([bus.started, counter?.started]);
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
