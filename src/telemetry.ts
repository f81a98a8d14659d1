import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

/** What the parts log through; a child carries the request id or the crawl id. */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & { child(bindings: Record<string, unknown>): Log };

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Exact paths only: a wildcard would cost more than the rest of the line. */
const REDACTED = ['authorization', 'headers.authorization', 'secret', 'secretHash'];
const CENSOR = '[redacted]';
/** A key that was given out, or whatever was sent as one, wherever in the line it stands. */
const SECRETS = /cg_[\w-]{20,}|Bearer [^\s"\\]+/g;
const censored = (line: string): string => (line.includes('cg_') || line.includes('Bearer ') ? line.replace(SECRETS, CENSOR) : line);

/** JSON lines, times in ISO form. Secrets are redacted by the names of their fields and by their form, whatever is logged. */
export function createLog(level: LogLevel, destination: DestinationStream): Log {
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: REDACTED, censor: CENSOR },
    hooks: { streamWrite: censored },
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
