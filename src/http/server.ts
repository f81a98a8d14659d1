import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { getRequestListener, RequestError } from '@hono/node-server';
import { Refusal } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import type { Service } from '#service/service.ts';
import type { Log } from '#telemetry.ts';
import type { Api } from './api.ts';
import { createApp } from './app.ts';
import { baseUrlOf } from './base-url.ts';
import { boundAnswer } from './bound-answer.ts';
import { type AdmitOrigin, createAdmitOrigin } from './cors.ts';
import type { Exchange } from './exchange.ts';
import { DEFAULT_LIMITS, type GraphqlLimits } from './graphql/limits.ts';
import { isGraphqlTarget } from './graphql/path.ts';
import { HEALTH_PATH, type IsReady, READY_PATH } from './health.ts';
import type { Scrape } from './metrics.ts';
import { countStarts, createSilentObserver, type HttpObserver } from './observe.ts';
import { createAnswerProblem } from './problems.ts';

export type HttpAddress = { readonly host: string; readonly port: number };

export type HttpServer = {
  /** Answers the address that is listened on: `port` 0 takes any free one. Rejects when it cannot be had. */
  listen(address: HttpAddress): Promise<HttpAddress>;
  /**
   * Not ready any more, so that a balancer sends new requests elsewhere; those that come all the same are answered, each as the last one
   * of its connection.
   */
  drain(): void;
  /**
   * Not ready, then no new connections; watches end, requests under way are answered, each as the last one of its connection; after
   * `deadlineMs` whatever is left is cut. Memoised.
   */
  stop(options: { readonly deadlineMs: number }): Promise<void>;
};

export type HttpServerDeps = {
  readonly service: Service;
  readonly log: Log;
  /** The base address in problem types and in the OpenAPI document; null: the one that is listened on. */
  readonly publicUrl: string | null;
  readonly isReady: IsReady;
  readonly timers: Timers;
  /** Whose pages may read the answers; `*` for all. None: no word of CORS. */
  readonly corsOrigins: readonly string[];
  /** Null: nothing is answered but how the process is. */
  readonly api: Api | null;
  /** What differs from the defaults. */
  readonly graphqlLimits?: Partial<GraphqlLimits>;
  /** Absent: nothing is counted, and there is no `/metrics`. */
  readonly metrics?: { readonly observer: HttpObserver; readonly scrape: Scrape };
};

/** Bounds on how slowly and how much a client may send before it is answered 408 or 431 and cut off. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  /** Longer than the idle time of the usual proxies, which would else send into a connection that is being closed. */
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
};

export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { log, publicUrl, isReady, timers, corsOrigins, api, graphqlLimits, metrics } = deps;
  const observer = metrics?.observer ?? createSilentObserver();
  const service = { ...deps.service, startCrawl: countStarts(deps.service.startCrawl, observer) };
  let baseUrl = publicUrl?.replace(/\/+$/, '') ?? '';
  let draining = false;
  let stopped: Promise<void> | null = null;
  const answerProblem = createAnswerProblem({ log, publicUrl: () => baseUrl });
  const app = createApp({
    service,
    api,
    answerProblem,
    isReady: () => !draining && isReady(),
    publicUrl: () => baseUrl,
    timers,
    scrape: metrics?.scrape ?? null,
    observer,
  });
  const admitOrigin: AdmitOrigin | null = corsOrigins.length === 0 ? null : createAdmitOrigin(corsOrigins);
  const limits = { ...DEFAULT_LIMITS, ...graphqlLimits };
  const graphql = api === null ? null : api.createGraphql({ service, log, timers, limits, observer });
  const server = createServer({ ...LIMITS, shouldUpgradeCallback: (request) => graphql !== null && asksForWebSocket(request) }, dispatch);
  server.on('upgrade', (request, socket, head) => {
    if (graphql !== null && asksForWebSocket(request)) graphql.sockets.accept(request, request.socket, head);
    else socket.destroy(); // from a Node that does not know the callback
  });

  /** Every request comes through here: it gets its id, the headers of every answer, and its line in the log. */
  function dispatch(request: IncomingMessage, response: ServerResponse): void {
    const id = randomUUID();
    const headers = { 'X-Request-Id': id, 'X-Content-Type-Options': 'nosniff' };
    const exchange: Exchange = {
      id,
      request,
      response,
      headers,
      route: null,
      organizationId: null,
      isRead: request.method === 'GET',
      isStream: false,
    };
    const startedAt = performance.now();
    if (draining) response.shouldKeepAlive = false;
    response.once('close', () => {
      if (stopped !== null) server.closeIdleConnections();
      tell(exchange, performance.now() - startedAt);
    });
    response.once('prefinish', () => {
      if (response.writableLength > 0) boundAnswer(response, timers); // not all of it is with the system yet, as it nearly always is
    });
    if (admitOrigin?.(exchange)) return;
    if (graphql !== null && isGraphqlTarget(request.url ?? '')) return void graphql.answer(exchange); // never rejects
    // one listener a request costs a closure, and lets a request that has no valid URL be answered as what it is
    const answer = getRequestListener((fetched) => app.fetch(fetched, exchange), {
      hostname: 'localhost',
      errorHandler: (error) => answerProblem(error instanceof RequestError ? invalidTarget(error) : error, exchange),
    });
    answer(request, response).catch((error: unknown) => {
      log.error({ requestId: exchange.id, err: error }, 'a request could not be answered');
      response.destroy();
    });
  }

  /** The route's template and not the address: what a client writes there does not get into the log. */
  function tell({ id, request, response, route, organizationId, isRead, isStream }: Exchange, ms: number): void {
    if (!isStream) observer.answered(route, request.method ?? '', response.writableFinished ? response.statusCode : null, ms);
    const line = {
      requestId: id,
      method: request.method,
      route,
      status: response.statusCode,
      ms: Math.round(ms * 10) / 10,
      organizationId,
    };
    if (!response.writableFinished) log.info(line, 'request abandoned by its client');
    else if (isRoutine(response, route, isRead)) log.debug(line, 'request');
    else log.info(line, 'request');
  }

  function drain(): void {
    draining = true;
  }

  async function stop(deadlineMs: number): Promise<void> {
    drain();
    const closed = new Promise<void>((resolve) => server.close(() => resolve())); // closes the idle connections, too
    const socketsClosed = graphql?.sockets.stop(deadlineMs); // before the watches end, which would tell their clients of an error
    service.stopWatching();
    const deadline = setTimeout(() => server.closeAllConnections(), deadlineMs);
    await Promise.all([closed, socketsClosed]);
    clearTimeout(deadline);
  }

  return {
    async listen({ host, port }) {
      server.listen(port, host);
      await once(server, 'listening'); // rejects by the event 'error'
      const address = server.address();
      const bound = { host, port: typeof address === 'object' && address !== null ? address.port : port };
      if (baseUrl === '') baseUrl = baseUrlOf(bound);
      return bound;
    },
    drain,
    stop({ deadlineMs }) {
      stopped ??= stop(deadlineMs);
      return stopped;
    },
  };
}

/** Whatever else a client would like to speak, it is answered by HTTP. */
const asksForWebSocket = ({ url = '', headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === 'websocket' && isGraphqlTarget(url);

/** Clients poll: lines of reads that went well would drown the others, and each takes a quarter of the time of its answer. */
const isRoutine = ({ statusCode }: ServerResponse, route: string | null, isRead: boolean): boolean =>
  (isRead && statusCode < 400) || route === HEALTH_PATH || route === READY_PATH;

const invalidTarget = (cause: RequestError): Refusal =>
  new Refusal(
    'invalid_request',
    'The request has no valid address.',
    { errors: [{ detail: 'must be a host name or address', header: 'Host' }] },
    { cause },
  );
