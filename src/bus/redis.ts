import { createRedisLink, type RedisLinkDeps, reasonOf } from '#redis/link.ts';
import type { Log } from '#telemetry.ts';
import type { Bus } from './bus.ts';
import { createListeners } from './listeners.ts';
import { parseSnapshot } from './parse-snapshot.ts';
import { nameOf, topicsOf } from './topics.ts';

/** What the bus has done since it was created. */
export type RedisBusCounts = {
  /** Snapshots that were sent. */
  readonly published: number;
  /** Snapshots that reached nobody: Redis was away, did not take them, or had too many to answer. */
  readonly dropped: number;
  /** Messages that were not what this service publishes. */
  readonly broken: number;
  readonly gaps: number;
};

/** The bus between processes: a channel per crawl and per organization and one for the queue, each subscribed while somebody here listens. */
export type RedisBus = Bus & {
  /** Resolves when the first attempt to reach Redis has ended, either way, within seconds; what is published before is dropped. */
  readonly started: Promise<void>;
  /** Whether Redis answers both those who publish and those who listen here. */
  isConnected(): boolean;
  counts(): RedisBusCounts;
};

type Deps = Pick<RedisLinkDeps, 'url' | 'heartbeatMs' | 'random'> & {
  readonly log: Log;
  /** A clock that never goes back, in milliseconds. */
  readonly now?: () => number;
};

const PREFIX = 'crawlgate:';
/** Messages that Redis has not answered yet hold at most this many characters; what is published beyond is dropped. */
const MOST_UNANSWERED = 4 * 1024 * 1024;
/** `subscribe` waits at most this long for Redis; when it answers later, that was a gap. */
const SUBSCRIBE_MS = 1_000;
/** Channels of one command. */
const CHANNELS_AT_ONCE = 1_000;
/** A broken message is logged at most once in this time, in milliseconds. */
const BROKEN_LOG_MS = 60_000;

/** Whether the error is what Redis has answered. */
const isReply = (error: unknown): boolean => error instanceof Error && error.name === 'ReplyError';

export function createRedisBus({ url, log, heartbeatMs, random, now = () => performance.now() }: Deps): RedisBus {
  const counts = { published: 0, dropped: 0, broken: 0, gaps: 0 };
  /** The links that are down. */
  const away = new Set<string>();
  /** What Redis has not confirmed yet, by topic. */
  const subscribing = new Map<string, Promise<void>>();
  let hadBeenUp = false;
  let unanswered = 0;
  let refusalLogged = false;
  let brokenLoggedAt = Number.NEGATIVE_INFINITY;
  let closing: Promise<void> | null = null;

  const listeners = createListeners({
    log,
    onUnheard(topic) {
      // a broken link has no subscriptions; the next one gets those of the topics that are listened to then
      if (subscriber.isUp()) subscriber.client.unsubscribe(PREFIX + topic).catch(() => {});
    },
  });

  const link = (name: string, onUp: () => void) =>
    createRedisLink({
      url,
      name: `crawlgate-${name}`,
      onUp() {
        if (away.delete(name) && away.size === 0) log.info({ dropped: counts.dropped }, 'Redis is back: updates are fast again');
        onUp();
      },
      onDown(reason) {
        if (away.size === 0) log.warn({ reason }, 'Redis is away: watchers learn of changes by re-reading the store until it is back');
        away.add(name);
      },
      heartbeatMs,
      random,
    });
  const publisher = link('publisher', () => {
    refusalLogged = false;
  });
  const subscriber = link('subscriber', () => void restore());
  subscriber.client.on('message', receive);

  /** Subscribes what was listened to before the link was up, and tells that messages may have been lost. */
  async function restore(): Promise<void> {
    const channels = listeners.topics().map((topic) => PREFIX + topic);
    const commands: Promise<unknown>[] = [];
    for (let at = 0; at < channels.length; at += CHANNELS_AT_ONCE) {
      commands.push(subscriber.client.subscribe(...channels.slice(at, at + CHANNELS_AT_ONCE)));
    }
    const outcomes = await Promise.allSettled(commands);
    for (const outcome of outcomes) if (outcome.status === 'rejected') refused(outcome.reason);
    if (channels.length > 0 || hadBeenUp) gap();
    hadBeenUp = true;
  }

  function gap(): void {
    if (closing !== null || !subscriber.isUp()) return;
    counts.gaps++;
    listeners.tellGap();
  }

  /** A command has failed: with its link, which is logged once for all, or because Redis does not want it. */
  function refused(error: unknown): void {
    if (!isReply(error) || refusalLogged) return;
    refusalLogged = true;
    log.error({ reason: reasonOf(error) }, 'Redis refuses what the bus asks of it; further refusals are only counted');
  }

  function receive(channel: string, message: string): void {
    if (closing !== null) return;
    const snapshot = parseSnapshot(message);
    const topic = channel.slice(PREFIX.length);
    // one of another organization, whoever sent it, must not be told here
    if (snapshot !== null && topicsOf(snapshot).includes(topic)) listeners.tell(topic, snapshot);
    else broken(channel);
  }

  function broken(channel: string): void {
    counts.broken++;
    if (now() - brokenLoggedAt < BROKEN_LOG_MS) return;
    brokenLoggedAt = now();
    log.warn({ channel, broken: counts.broken }, 'a message that is no snapshot of its channel was dropped');
  }

  async function subscribed(channel: string): Promise<void> {
    const answered = subscriber.client.subscribe(channel).then(() => true, refused);
    const late = Promise.withResolvers<false>();
    const timer = setTimeout(() => late.resolve(false), SUBSCRIBE_MS);
    const inTime = await Promise.race([answered, late.promise]);
    clearTimeout(timer);
    if (inTime === false) void answered.then((done) => done && gap());
  }

  return {
    started: Promise.all([publisher.attempted, subscriber.attempted]).then(() => {}),
    isConnected: () => publisher.isUp() && subscriber.isUp(),
    counts: () => ({ ...counts }),
    async publish(snapshot) {
      if (closing !== null) return;
      const message = publisher.isUp() ? JSON.stringify(snapshot) : '';
      const topics = topicsOf(snapshot);
      const size = message.length * topics.length;
      if (message === '' || unanswered + size > MOST_UNANSWERED) {
        counts.dropped++;
        return;
      }
      unanswered += size;
      void Promise.all(topics.map((topic) => publisher.client.publish(PREFIX + topic, message)))
        .then(
          () => counts.published++,
          (error) => {
            counts.dropped++;
            refused(error);
          },
        )
        .finally(() => {
          unanswered -= size;
        });
    },
    async subscribe(topic, listener) {
      if (closing !== null) return () => {};
      const name = nameOf(topic);
      const isFirst = !listeners.has(name);
      const stop = listeners.add(name, listener);
      // while the link is down: at its next start, which tells of a gap
      if (isFirst && subscriber.isUp()) {
        const done = subscribed(PREFIX + name).finally(() => subscribing.get(name) === done && subscribing.delete(name));
        subscribing.set(name, done);
      }
      await subscribing.get(name);
      return stop;
    },
    onGap: listeners.addGap,
    close: () => {
      closing ??= Promise.all([publisher.close(), subscriber.close()]).then(() => {});
      listeners.clear();
      return closing;
    },
  };
}
