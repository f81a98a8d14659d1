import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

/** What the parts log through; a child carries the request id or the crawl id. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & { child(bindings: Record<string, unknown>): Log };

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const REDACTED = [
  'authorization',
  '*.authorization',
  'headers.authorization',
  '*.headers.authorization',
  'secret',
  '*.secret',
  '*.secretHash',
];

/** JSON lines, times in ISO form. Fields that may carry a secret are redacted whatever is logged. */
export function createLog(level: LogLevel, destination: DestinationStream): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '[redacted]' },
  };
  return pino(options, destination);
}

/** The log of this process, or of one of its threads: on stderr, each line written whole before the call returns. */
export function createStderrLog(level: LogLevel): Log {
  const destination = pino.destination({ dest: 2, sync: true });
  // A reader of the log that has gone, or a full disk behind it, must not take the service with it.
  destination.on('error', () => {});
  return createLog(level, destination);
}
