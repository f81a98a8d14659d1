import { Agent, type buildConnector, errors } from 'undici';
import { createDispatchLeniently, type Dispatch } from './dispatch-leniently.ts';

/** Origins that are remembered for answers which only a lenient reading takes. */
const MAX_ODD_ORIGINS = 1_000;
const GONE: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Whether an answer came that undici refuses: no HTTP to the letter, of two lengths, or after a 100 that nobody asked for. */
const isOdd = (error: Error): boolean =>
  error instanceof errors.HTTPParserError ||
  error instanceof errors.ResponseContentLengthMismatchError ||
  (error instanceof errors.SocketError && error.message === 'bad response');

/**
 * Sends GETs over one keep-alive pool an origin. Where no response began, a request is sent once more at once, and leniently: when what
 * came could not be read, and when the connection had brought an answer before, for its server may have closed it meanwhile (RFC 9112
 * §9.3.1). Origins that had to be read so are asked so from then on.
 */
export function createDispatch(
  connect: buildConnector.connector,
  maxHeaderSize: number,
): { dispatch: Dispatch; close: () => Promise<void> } {
  const stale = new WeakSet<Error>();
  const odd = new Set<string>();
  const noting: buildConnector.connector = (options, callback) =>
    connect(options, (...opened) => {
      const [, socket] = opened;
      socket?.on('error', (error: NodeJS.ErrnoException) => {
        if (socket.bytesRead > 0 && GONE.has(error.code)) stale.add(error);
      });
      callback(...opened);
    });
  const agent = new Agent({ connect: noting, allowH2: false, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize });
  const dispatchLeniently = createDispatchLeniently(connect, maxHeaderSize);

  function remember(origin: string): void {
    odd.add(origin);
    const [first] = odd;
    if (odd.size > MAX_ODD_ORIGINS && first !== undefined) odd.delete(first);
  }

  return {
    dispatch(url, path, headers, exchange) {
      const { origin } = url;
      if (odd.has(origin)) return dispatchLeniently(url, path, headers, exchange);
      let began = false;
      agent.dispatch(
        { origin, path, method: 'GET', headers: [...headers] },
        {
          ...exchange,
          onResponseStart(controller, status, fields) {
            began ||= status >= 200;
            exchange.onResponseStart(controller, status, fields);
          },
          onResponseError(controller, error) {
            const isOddAnswer = isOdd(error);
            if (began || !(isOddAnswer || stale.has(error))) return exchange.onResponseError(controller, error);
            dispatchLeniently(url, path, headers, {
              ...exchange,
              onResponseStart(...start) {
                if (isOddAnswer) remember(origin);
                exchange.onResponseStart(...start);
              },
              onResponseError: (_, second) => exchange.onResponseError(null, second, !isOddAnswer),
            });
          },
        },
      );
    },
    close: () => agent.destroy(),
  };
}
