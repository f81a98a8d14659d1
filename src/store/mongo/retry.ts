import { setTimeout as delay } from 'node:timers/promises';
import {
  type AnyBulkWriteOperation,
  type Collection,
  MongoBulkWriteError,
  MongoCompatibilityError,
  MongoError,
  MongoInvalidArgumentError,
  MongoParseError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { unavailable } from '#domain/errors.ts';

const DUPLICATE_KEY = 11_000;
/**
 * Codes of a server that cannot do it now: shutting down, stepping down, not (yet) primary, unreachable or slow members, out of
 * time, overloaded. From the server's error_codes.yml.
 */
const NOT_NOW = new Set([
  6, 7, 24, 50, 64, 89, 91, 94, 100, 112, 133, 134, 189, 202, 262, 365, 402, 407, 433, 449, 9001, 10058, 10107, 11600, 11601, 11602, 13388,
  13435, 13436,
]);

/**
 * How often a step that lost a race is tried again: each lost one is somebody else's success, or one that a majority does not have
 * yet and that majority reads do not show. After the first ones there is a pause before each, in milliseconds: 5 s in all.
 */
const MOST_RACES = 1_020;
const RACES_AT_ONCE = 20;
const PAUSE_MS = 5;

export const isDuplicate = (error: unknown): boolean => error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/** Errors that Node makes itself of a socket that has ended or been destroyed; those of the system name their `syscall`. */
const SOCKET_GONE: ReadonlySet<unknown> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_SOCKET_CLOSED']);

/** What the driver lets through as it is when a connection breaks while it writes: the error of the socket. */
const isOfSocket = (error: unknown): boolean =>
  error instanceof Error && ('syscall' in error || ('code' in error && SOCKET_GONE.has(error.code)));

/** What a caller is told: `unavailable` where the server, or the way to it, is at fault; everything else as it is. */
export function told(error: unknown): unknown {
  if (isOfSocket(error)) return unavailable('The database does not answer.', error);
  if (!(error instanceof MongoError)) return error;
  if (error instanceof MongoParseError || error instanceof MongoInvalidArgumentError || error instanceof MongoCompatibilityError)
    return error;
  // A bulk wraps whatever ended it: without a code it was the connection.
  const answered = error instanceof MongoServerError && !(error instanceof MongoBulkWriteError && error.code === undefined);
  if (answered && !(error instanceof MongoWriteConcernError) && !NOT_NOW.has(Number(error.code))) return error;
  return unavailable('The database does not answer.', error);
}

/** Runs `step`, which answers undefined when another one was faster, until it answers. */
export async function untilWon<T>(step: () => Promise<T | undefined>): Promise<T> {
  for (let races = 0; races < MOST_RACES; races++) {
    const answer = await step();
    if (answer !== undefined) return answer;
    if (races >= RACES_AT_ONCE) await delay(PAUSE_MS);
  }
  throw unavailable('The record is changed too often at the moment.');
}

/** Runs an insert, or an upsert that inserts; answers false when there is such a record already. */
export async function ifAbsent(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

/**
 * Runs the operations in order as one command. One that finds its key taken has been done by another who repeats the same batch: the
 * rest goes on behind it.
 */
export async function writeAll<T extends object>(
  collection: Collection<T>,
  operations: readonly AnyBulkWriteOperation<T>[],
): Promise<void> {
  let rest = operations;
  while (rest.length > 0) {
    try {
      await collection.bulkWrite(rest, { ordered: true });
      return;
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError) || !isDuplicate(error)) throw error;
      const failed = [error.writeErrors].flat()[0];
      if (failed === undefined) throw error;
      rest = rest.slice(failed.index + 1);
    }
  }
}
