import { readBoolean, wholeNumber } from './values.ts';
import { variable } from './variable.ts';

/** What the driver of MongoDB is told, and how long a start has patience with it. */
export const MONGODB_ROWS = {
  storeWaitSeconds: variable({
    name: 'STORE_WAIT_SECONDS',
    ...wholeNumber(0, 3_600),
    default: '30',
    unit: 'seconds',
    meaning: 'How long a start waits for a MongoDB that does not answer, before it fails.',
  }),
  mongodbPoolSize: variable({
    name: 'MONGODB_POOL_SIZE',
    ...wholeNumber(1, 1_000),
    default: '50',
    unit: 'connections',
    meaning: 'The most connections to MongoDB, for the gateway part of a process and for its crawler each.',
  }),
  mongodbConnectTimeoutMs: variable({
    name: 'MONGODB_CONNECT_TIMEOUT_MS',
    ...wholeNumber(100, 600_000),
    default: '5000',
    unit: 'milliseconds',
    meaning: 'How long a connection to MongoDB may take to come about.',
  }),
  mongodbSelectionTimeoutMs: variable({
    name: 'MONGODB_SELECTION_TIMEOUT_MS',
    ...wholeNumber(100, 600_000),
    default: '5000',
    unit: 'milliseconds',
    meaning: 'How long a request waits for a primary, or for a connection that is free, before it is answered 503.',
  }),
  mongodbAnswerTimeoutMs: variable({
    name: 'MONGODB_ANSWER_TIMEOUT_MS',
    ...wholeNumber(100, 600_000),
    default: '10000',
    unit: 'milliseconds',
    meaning: 'How long MongoDB may take to answer, and a majority of its members to have a write.',
  }),
  mongodbRetryReads: variable({
    name: 'MONGODB_RETRY_READS',
    accepts: 'true or false',
    default: 'true',
    meaning: 'Whether the driver repeats a read once whose connection was lost. It never repeats writes, whatever the URL says.',
    read: readBoolean,
  }),
} as const;
