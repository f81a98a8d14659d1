import { type Config, ConfigError } from '#config/config.ts';
import { Refusal } from '#domain/errors.ts';
import { openMongoStore, WrongMongoUrl } from '#store/mongo/open.ts';
import type { Store } from '#store/store.ts';
import type { Log } from '#telemetry.ts';
import { backoffMs, pause, systemTimers } from '#worker/timers.ts';

export type OpenMongoOptions = {
  readonly config: Config;
  readonly url: string;
  readonly log: Log;
  /** How long a server that does not answer is tried again; the last attempt may end later, by the driver's own timeouts. */
  readonly waitMs: number;
  /** Ends the wait: what is thrown then is its reason. */
  readonly signal: AbortSignal;
};

/** Opens the store. What it throws is one line, and shows no more of the URL than a server's address. */
export async function openMongo({ config, url, log, waitMs, signal }: OpenMongoOptions): Promise<Store> {
  const since = performance.now();
  for (let failures = 1; ; failures++) {
    try {
      return await unlessAborted(openMongoStore({ url, log, settings: settingsOf(config) }), signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof WrongMongoUrl)
        throw new ConfigError('STORE_URL is not a connection string that the MongoDB driver takes: look at its options');
      if (!isAway(error)) throw refusalOf(error);
      if (performance.now() - since >= waitMs)
        throw new Error(`the MongoDB of STORE_URL does not answer: ${reasonOf(error)}`, { cause: error });
      if (failures === 1) log.warn({ reason: reasonOf(error) }, 'MongoDB does not answer yet, and is waited for');
      await pause(systemTimers, Math.min(backoffMs(failures), waitMs), signal);
    }
  }
}

const settingsOf = (config: Config) => ({
  poolSize: config.mongodbPoolSize,
  connectTimeoutMs: config.mongodbConnectTimeoutMs,
  selectionTimeoutMs: config.mongodbSelectionTimeoutMs,
  answerTimeoutMs: config.mongodbAnswerTimeoutMs,
  retryReads: config.mongodbRetryReads,
});

/** A store that opens too late is closed again. */
async function unlessAborted(opening: Promise<Store>, signal: AbortSignal): Promise<Store> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    return await Promise.race([opening, aborted.promise]);
  } catch (error) {
    opening.then((store) => store.close()).catch(() => {}); // told, or of no interest any more
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The servers, or the name service that knows those of `mongodb+srv`, may answer later. */
const isAway = (error: unknown): boolean =>
  (error instanceof Refusal && error.code === 'unavailable') || (error as NodeJS.ErrnoException).syscall?.startsWith('query') === true;

/** What the server has said, such as that it does not know the user; everything else is whole as it is. */
const refusalOf = (error: unknown): unknown =>
  error instanceof Error && error.name.startsWith('Mongo')
    ? new Error(`the MongoDB of STORE_URL refuses: ${error.message}`, { cause: error })
    : error;

const reasonOf = (error: unknown): string => {
  if (error instanceof Refusal && error.cause !== undefined) return reasonOf(error.cause);
  return error instanceof Error ? error.message : String(error);
};
