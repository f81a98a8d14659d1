import { Redis } from 'ioredis';

/** A connection to Redis that is restored for ever, and while it is away lets every command fail at once. */
export type RedisLink = {
  /** For commands; each rejects when it cannot be sent, or when the link breaks before its answer. None is ever sent again. */
  readonly client: Redis;
  /** Whether Redis has answered on the present connection. */
  isUp(): boolean;
  /** Resolves when the first attempt to reach Redis has ended, either way; never rejects. */
  readonly attempted: Promise<void>;
  /** What was sent before is sent for good, if Redis takes it soon. Memoised; never rejects; takes 100 ms at most. */
  close(): Promise<void>;
};

export type RedisLinkDeps = {
  /** `redis://` or `rediss://`. */
  readonly url: string;
  /** What Redis lists the connection as. */
  readonly name: string;
  /** Called each time that Redis answers on a new connection. */
  readonly onUp: () => void;
  /** Called each time that an attempt has failed or the link has broken; the reason holds no part of the URL but host and port. */
  readonly onDown: (reason: string) => void;
  /** Redis is asked for a sign of life this often, and given up when it has not answered by the next time. */
  readonly heartbeatMs?: number | undefined;
  /** From 0 to below 1. */
  readonly random?: (() => number) | undefined;
};

const HEARTBEAT_MS = 5_000;
const CONNECT_MS = 2_000;
const CLOSE_MS = 50;
/** The longest wait before an attempt, in milliseconds; the first is twenty times shorter. */
const MOST_BACKOFF_MS = 2_000;

/** Doubled with each failure in a row, and spread over its upper half, so that not every process knocks at the same moment. */
const backoffMs = (failures: number, random: () => number): number => Math.min(MOST_BACKOFF_MS, 100 * 2 ** failures) * (0.5 + random() / 2);

/** For a command whose failure is told by the end of its connection. */
const ignored = (): void => {};

/** Only the message: the errors of ioredis carry the command, and with it the password. Of several addresses the first speaks. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
};

export function createRedisLink({ url, name, onUp, onDown, heartbeatMs = HEARTBEAT_MS, random = Math.random }: RedisLinkDeps): RedisLink {
  const attempted = Promise.withResolvers<void>();
  let up = false;
  let closing: Promise<void> | null = null;
  let failures = 0;
  let reason: string | null = null;
  let answered = true;

  const client = new Redis(url, {
    connectionName: name,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: CLOSE_MS,
    retryStrategy: () => backoffMs(failures++, random),
    // Nothing waits for a Redis that is away: neither new commands, nor those without an answer.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Its own resubscription rejects into nowhere when the link breaks again meanwhile.
    autoResubscribe: false,
    // The ping below takes its place: it needs no right to INFO, and a wrong password does not look like a success.
    enableReadyCheck: false,
    disableClientInfo: true,
  });

  function lost(why: string): void {
    up = false;
    reason = null;
    attempted.resolve();
    if (closing === null) onDown(why);
  }

  function alive(): void {
    answered = true;
  }

  client.on('error', (error) => {
    reason ??= reasonOf(error);
  });
  client.on('close', () => lost(reason ?? 'the connection was closed'));
  // without an end of ours: what ioredis does not try again, such as options that no socket takes
  client.on('end', () => lost(reason ?? 'the connection cannot be made'));
  client.on('connect', alive);
  client.on('ready', () => {
    alive();
    client.ping().then(
      () => {
        if (closing !== null || client.status !== 'ready') return;
        failures = 0;
        reason = null;
        up = true;
        attempted.resolve();
        onUp();
      },
      // the link breaks, or must not be used: NOAUTH, too many clients
      (error) => {
        reason ??= reasonOf(error);
        if (client.status === 'ready') client.disconnect(true);
      },
    );
  });

  function beat(): void {
    // in `connect` Redis has been reached, but says nothing yet
    if (closing !== null || (client.status !== 'ready' && client.status !== 'connect')) return;
    if (!answered) {
      reason ??= `no answer within ${heartbeatMs} ms`;
      up = false; // now, for the end of the connection is noticed later
      client.disconnect(true);
      return;
    }
    answered = false;
    if (client.status === 'ready') client.ping().then(alive, ignored);
  }
  // where this process itself was held up, the answer may have arrived: it is read before the next turn
  const heartbeat = setInterval(() => void setImmediate(beat), heartbeatMs);

  async function end(): Promise<void> {
    clearInterval(heartbeat);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, CLOSE_MS);
    // behind all that was sent; also when Redis has not answered yet
    if (client.status === 'ready') client.quit().catch(ignored);
    else client.disconnect();
    await Promise.race([ended, late.promise]);
    clearTimeout(timer);
    if (client.status !== 'end') client.disconnect();
    up = false;
    attempted.resolve();
  }

  return {
    client,
    isUp: () => up,
    attempted: attempted.promise,
    close: () => (closing ??= end()),
  };
}
