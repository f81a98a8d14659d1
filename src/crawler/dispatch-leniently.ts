import { request } from 'node:http';
import { type buildConnector, type Dispatcher, errors } from 'undici';

/** What the sender of a request is told, in undici's words. `onRequestStart` comes again when the request is sent again. */
export type Exchange = {
  readonly onRequestStart: (controller: Pick<Dispatcher.DispatchController, 'abort'>) => void;
  readonly onResponseStart: (controller: unknown, status: number, headers: Readonly<Record<string, string | string[] | undefined>>) => void;
  readonly onResponseData: (controller: unknown, chunk: Buffer) => void;
  readonly onResponseEnd: () => void;
  /** `isSecond`: two connections in a row ended by it. May come again after it has come, or after the end. */
  readonly onResponseError: (controller: unknown, error: Error, isSecond?: boolean) => void;
};

/** Sends one GET for `url`, with `headers` (names and values in turn) beside `Host`. */
export type Dispatch = (url: URL, path: string, headers: readonly string[], exchange: Exchange) => void;

/**
 * Sends each request over a connection of its own, and takes answers that browsers take and undici does not: folded headers (RFC 9112
 * §5.2), lines that end in LF alone (§2.2), spaces and control characters where none may be, Content-Length twice or beside
 * Transfer-Encoding (§6.3), a 100 that nobody asked for (RFC 9110 §15.2). Who reads so must not share a connection, as others could
 * be given what is left on it.
 */
export function createDispatchLeniently(connect: buildConnector.connector, maxHeaderSize: number): Dispatch {
  return ({ protocol, hostname, host, port }, path, headers, exchange) =>
    connect({ protocol, hostname: hostname.replace(/^\[|\]$/g, ''), host, port }, (error, socket) => {
      if (error !== null) return exchange.onResponseError(null, error);
      const sent = request({
        path,
        headers: ['host', host, ...headers, 'connection', 'close'],
        maxHeaderSize,
        insecureHTTPParser: true,
        createConnection: () => socket,
      });
      let answered = false;
      sent.on('error', (cause) => {
        if (!answered) exchange.onResponseError(null, cause);
      });
      sent.on('close', () => {
        if (!answered) exchange.onResponseError(null, new errors.SocketError('closed'));
      });
      sent.on('response', (response) => {
        answered = true;
        response.on('data', (chunk: Buffer) => exchange.onResponseData(null, chunk));
        response.on('end', exchange.onResponseEnd);
        response.on('error', (cause) => exchange.onResponseError(null, cause));
        exchange.onResponseStart(null, response.statusCode ?? 0, response.headersDistinct);
      });
      sent.end();
      exchange.onRequestStart({ abort: (reason) => void sent.destroy(reason) });
    });
}
