import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { GraphQLError } from 'graphql';
import { CloseCode, handleProtocols, makeServer } from 'graphql-ws';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Caller } from '#domain/account.ts';
import { Refusal } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import type { Service } from '#service/service.ts';
import type { Log } from '#telemetry.ts';
import { bearerOf } from '../../admit.ts';
import type { HttpObserver } from '../../observe.ts';
import { createTakeSlot } from '../../stream-slots.ts';
import type { GraphqlLimits } from '../limits.ts';
import type { Operations, PreparedOperation } from './operations.ts';
import { createPeer, type Peer } from './peer.ts';

/** The WebSockets of a server: the protocol `graphql-transport-ws`. */
export type Sockets = {
  /** Takes over a connection that asks for a WebSocket. */
  accept(request: IncomingMessage, connection: Socket, head: Buffer): void;
  /** Closes every socket with 1001, so that its client connects again, and after `deadlineMs` cuts off those that stay. Memoised. */
  stop(deadlineMs: number): Promise<void>;
};

type Deps = {
  readonly service: Service;
  readonly operations: Operations;
  readonly limits: GraphqlLimits;
  readonly timers: Timers;
  readonly log: Log;
  readonly observer: Pick<HttpObserver, 'opened' | 'closed'>;
};

/** A socket as graphql-ws carries it along. */
type Session = { readonly id: string; readonly peer: Peer; caller: Caller | null; giveBack: () => void };
type Params = { readonly [name: string]: unknown };

const TIMES = { keepAliveMs: 30_000, stalledMs: 30_000 };
/** How often sockets are looked after, in milliseconds. */
const CHECK_MS = 5_000;
/** RFC 6455 §7.4.1 and its registry. */
const NORMAL = 1000;
const GOING_AWAY = 1001;
const UNSUPPORTED_DATA = 1003;
const TRY_AGAIN_LATER = 1013;

export function createSockets({ service, operations, limits, timers, log, observer }: Deps): Sockets {
  const takeSlot = createTakeSlot({ what: 'WebSockets', perKey: limits.maxSocketsPerKey, perProcess: limits.maxSockets });
  const sessions = new Set<Session>();
  let stopped: Promise<void> | null = null;
  let stopChecking: (() => void) | null = null; // while there is nothing to check, no timer keeps the process

  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false, // it costs five times the memory
    maxPayload: limits.maxBodyBytes,
    allowSynchronousEvents: false, // else graphql-ws loses track of an id that is completed and used again in one segment
    handleProtocols: (protocols) => handleProtocols(protocols),
  });

  const server = makeServer<Params, Session>({
    onConnect: ({ connectionParams, extra }) => admit(connectionParams, extra),
    onSubscribe({ extra, subscriptions }, id, payload) {
      const count = Object.keys(subscriptions).length;
      if (extra.caller === null || count > limits.maxOperationsPerSocket) return [tooMany(count, limits.maxOperationsPerSocket)];
      return operations.prepare(id, payload, { caller: extra.caller, peer: extra.peer, requestId: extra.id });
    },
    execute: (operation) => operations.execute(operation as PreparedOperation),
    subscribe: (operation) => operations.subscribe(operation as PreparedOperation),
    onError: ({ extra }, _id, _payload, errors) =>
      errors.flatMap((error) => operations.present(thrown(error), extra.id)).map((error) => error.toJSON()),
  });

  /** Answers whether the client may stay; it has been told why not by then. */
  async function admit(params: Params | undefined, session: Session): Promise<boolean> {
    try {
      const secret = secretOf(params);
      if (secret === null) return false;
      const caller = await service.authenticate(secret);
      if (!sessions.has(session)) return false; // closed meanwhile
      const giveSlotBack = takeSlot(caller.keyId);
      const stopFollowing = service.followKey(caller, ({ message }) => session.peer.close(CloseCode.Forbidden, message));
      session.caller = caller;
      session.giveBack = () => {
        giveSlotBack();
        stopFollowing();
      };
      return true;
    } catch (error) {
      const refusal = error instanceof Refusal ? error : null;
      if (refusal?.code === 'unauthorized') return false;
      if (refusal === null) log.error({ requestId: session.id, err: error }, 'unexpected error');
      session.peer.close(TRY_AGAIN_LATER, refusal?.message ?? 'The service is not available at the moment.');
      return false;
    }
  }

  function open(socket: WebSocket, connection: Socket): void {
    const session: Session = { id: randomUUID(), peer: createPeer(socket, connection, timers.now, TIMES), caller: null, giveBack() {} };
    const { peer } = session;
    sessions.add(session);
    observer.opened('websocket');
    stopChecking ??= timers.after(CHECK_MS, check);
    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (text) => new Promise((resolve) => void (peer.send(text, resolve) && resolve())),
        close: (code = NORMAL, reason = '') => peer.close(code, reason),
        onMessage: (receive) => socket.on('message', (data, isBinary) => void onMessage(session, receive, String(data), isBinary)),
      },
      session,
    );
    socket.once('close', (code, reason) => {
      sessions.delete(session);
      observer.closed('websocket');
      session.giveBack();
      log.debug({ requestId: session.id, organizationId: session.caller?.organizationId, code }, 'WebSocket closed');
      void closed(code, String(reason));
    });
  }

  async function onMessage(
    { id, peer }: Session,
    receive: (text: string) => Promise<void>,
    text: string,
    isBinary: boolean,
  ): Promise<void> {
    if (peer.socket.readyState !== peer.socket.OPEN) return; // what comes after the close is not begun
    if (isBinary) return peer.close(UNSUPPORTED_DATA, 'Send text.');
    try {
      await receive(text);
    } catch (error) {
      // graphql-ws says of a message that no client sends that it is unexpected; everything of this service was presented before
      if (error instanceof Error && error.message.startsWith('Unexpected message')) return peer.close(CloseCode.BadRequest, error.message);
      log.error({ requestId: id, err: error }, 'unexpected error');
      peer.close(CloseCode.InternalServerError, 'Internal server error');
    }
  }

  function check(): void {
    for (const { peer } of sessions) peer.check();
    stopChecking = sessions.size === 0 ? null : timers.after(CHECK_MS, check);
  }

  async function stop(deadlineMs: number): Promise<void> {
    stopChecking?.();
    const open = [...sessions].map(({ peer }) => peer);
    const closed = open.map(({ socket }) => new Promise<void>((resolve) => socket.once('close', () => resolve())));
    for (const peer of open) peer.close(GOING_AWAY, 'This server is stopping: connect again.');
    const cut = timers.after(deadlineMs, () => {
      for (const { socket } of open) socket.terminate();
    });
    await Promise.all(closed);
    cut();
  }

  return {
    accept(request, connection, head) {
      if (stopped !== null || sessions.size >= limits.maxSockets) return refuseUpgrade(connection);
      webSockets.handleUpgrade(request, connection, head, (socket) => open(socket, connection));
    },
    stop: (deadlineMs) => (stopped ??= stop(deadlineMs)),
  };
}

/** From `{"authorization": "Bearer <key>"}`, the name in any case. */
function secretOf(params: Params = {}): string | null {
  const [, value] = Object.entries(params).find(([name]) => name.toLowerCase() === 'authorization') ?? [];
  return typeof value === 'string' ? bearerOf(value) : null;
}

/** graphql-ws wraps what an iterator was rejected with. */
const thrown = (error: GraphQLError): unknown => (error.cause instanceof GraphQLError ? error : (error.cause ?? error));

const tooMany = (count: number, most: number): GraphQLError =>
  new GraphQLError(`The socket has ${count} operations under way; at most ${most} are allowed.`);

function refuseUpgrade(socket: Socket): void {
  socket.on('error', () => {});
  socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n');
}
