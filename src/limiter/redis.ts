import { createRedisLink, type RedisLinkDeps, reasonOf } from '#redis/link.ts';
import type { Log } from '#telemetry.ts';
import type { RequestCounter } from './request-counter.ts';

/** The counter that all processes with the same Redis share. */
export type RedisRequestCounter = RequestCounter & {
  /** Resolves when the first attempt to reach Redis has ended, either way, within seconds. */
  readonly started: Promise<void>;
  isConnected(): boolean;
  /** Requests that could not be counted here since the start. */
  uncounted(): number;
};

type Deps = Pick<RedisLinkDeps, 'url' | 'heartbeatMs' | 'random'> & {
  readonly log: Log;
  readonly windowMs: number;
  /** A request waits at most this long for Redis, in milliseconds; those after it do not wait until Redis has answered. Default 100. */
  readonly answerMs?: number;
};

const PREFIX = 'crawlgate:requests:';
const ANSWER_MS = 100;

/** One step on the server, so that a key never stays without an end. Answers the count and the milliseconds that are left. */
const COUNT = `
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  left = tonumber(ARGV[1])
end
return {count, left}`;

const isCount = (reply: unknown): reply is [number, number] =>
  Array.isArray(reply) && reply.length === 2 && reply.every((value) => Number.isSafeInteger(value));

export function createRedisRequestCounter({ url, log, windowMs, answerMs = ANSWER_MS, heartbeatMs, random }: Deps): RedisRequestCounter {
  let uncounted = 0;
  let away = false;
  let refusalLogged = false;
  /** A request has waited in vain, and nothing has been answered since. */
  let stalled = false;

  const link = createRedisLink({
    url,
    name: 'crawlgate-limiter',
    heartbeatMs,
    random,
    onUp() {
      if (away) log.info({ uncounted }, 'Redis is back: requests are counted over all processes again');
      away = false;
      refusalLogged = false;
    },
    onDown(reason) {
      if (!away) log.warn({ reason }, 'Redis is away: each process counts requests for itself until it is back');
      away = true;
    },
  });

  async function ask(key: string): Promise<[number, number] | null> {
    try {
      const reply = await link.client.eval(COUNT, 1, key, windowMs);
      if (isCount(reply)) return reply;
      throw new Error('not a count');
    } catch (error) {
      // a link that breaks is logged once for all; what is left is an answer that helps nobody
      if (link.isUp() && !refusalLogged) {
        refusalLogged = true;
        log.error({ reason: reasonOf(error) }, 'Redis does not count requests; each process counts for itself');
      }
      return null;
    } finally {
      stalled = false;
    }
  }

  return {
    started: link.attempted,
    isConnected: link.isUp,
    uncounted: () => uncounted,
    async count(keyId) {
      const reply = link.isUp() && !stalled ? await inTime(ask(PREFIX + keyId), answerMs, () => (stalled = true)) : null;
      if (reply === null) {
        uncounted++;
        return null;
      }
      const [count, left] = reply;
      return { count, resetMs: Math.max(1, left) };
    },
    close: link.close,
  };
}

/** What `answer` resolves to, if it does within `ms`; else null, and `onLate` is called. */
async function inTime<Value>(answer: Promise<Value>, ms: number, onLate: () => void): Promise<Value | null> {
  const late = Promise.withResolvers<null>();
  const giveUp = (): void => {
    onLate();
    late.resolve(null);
  };
  let waiting: NodeJS.Immediate | null = null;
  const timer = setTimeout(() => {
    // where this process itself was held up, the answer may have arrived: it is read before the next turn
    waiting = setImmediate(giveUp);
  }, ms);
  const first = await Promise.race([answer, late.promise]);
  clearTimeout(timer);
  if (waiting !== null) clearImmediate(waiting);
  return first;
}
