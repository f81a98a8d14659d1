import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { GraphQLError } from 'graphql';
import {
  CloseCode,
  handleProtocols,
  MessageType,
  makeServer,
  type SubscribeMessage,
  type SubscribePayload,
  validateMessage,
} from 'graphql-ws';
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
import { bytesOf } from './frame.ts';
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
type Session = {
  readonly id: string;
  readonly peer: Peer;
  caller: Caller | null;
  giveBack: () => void;
  /** Of the message that is being dealt with: its length in bytes, and what a `subscribe` asks for; both are read within its turn. */
  messageBytes: number;
  payload: SubscribePayload | null;
};
type Params = { readonly [name: string]: unknown };

/** Nobody knows when an operation ends: the wait that is proposed, in milliseconds. */
const RETRY_MS = 1_000;
const TIMES = { keepAliveMs: 30_000, stalledMs: 30_000 };
/** How often sockets are looked after, in milliseconds. */
const CHECK_MS = 5_000;
/** A peer has so long to answer the close, in milliseconds. */
const CLOSE_MS = 5_000;
/** An operation that is too long is refused by itself, if its message is at most so many times the limit; a longer one closes the socket. */
const READ_BEYOND = 8;
/** RFC 6455 §7.4.1 and its registry. */
const NORMAL = 1000;
const GOING_AWAY = 1001;
const UNSUPPORTED_DATA = 1003;
const MESSAGE_TOO_BIG = 1009;
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
    maxPayload: limits.maxBodyBytes * READ_BEYOND,
    ...{ closeTimeout: CLOSE_MS }, // not known to its types yet
    allowSynchronousEvents: false, // else graphql-ws loses track of an id that is completed and used again in one segment
    handleProtocols: (protocols) => handleProtocols(protocols),
  });

  const server = makeServer<Params, Session>({
    onConnect(context) {
      const { connectionParams, extra } = context;
      Object.assign(context, { connectionParams: undefined }); // the key, and whatever came with it, is not kept with the socket
      return admit(connectionParams, extra);
    },
    onSubscribe({ extra, subscriptions }, id) {
      const { payload, caller, peer } = extra;
      extra.payload = null;
      if (extra.messageBytes > limits.maxBodyBytes) return [refused(tooLong(extra.messageBytes, limits.maxBodyBytes))];
      const count = Object.keys(subscriptions).length;
      if (caller === null || payload === null || count > limits.maxOperationsPerSocket)
        return [refused(tooMany(count, limits.maxOperationsPerSocket))];
      return operations.prepare(id, payload, { caller, peer, requestId: extra.id });
    },
    execute: (operation) => operations.execute(operation as PreparedOperation),
    subscribe: (operation) => operations.subscribe(operation as PreparedOperation),
    onError: ({ extra }, _id, _payload, errors) =>
      errors.flatMap((error) => operations.present(thrown(error), extra.id)).map((error) => error.toJSON()),
  });

  /** Answers whether the client may stay; it has been told why not by then: graphql-ws would say "Forbidden", whatever is wrong. */
  async function admit(params: Params | undefined, session: Session): Promise<boolean> {
    try {
      const secret = secretOf(params);
      if (secret === null) {
        session.peer.close(CloseCode.Forbidden, 'Send an API key in connection_init: {"authorization": "Bearer <key>"}.');
        return false;
      }
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
      if (refusal === null) log.error({ requestId: session.id, err: error }, 'unexpected error');
      const code = refusal?.code === 'unauthorized' ? CloseCode.Forbidden : TRY_AGAIN_LATER;
      session.peer.close(code, refusal?.message ?? 'The service is not available at the moment.');
      return false;
    }
  }

  function open(socket: WebSocket, connection: Socket): void {
    const peer = createPeer(socket, connection, timers.now, TIMES);
    const id = randomUUID().toLowerCase(); // it is; but now in one piece, which takes 65 bytes instead of 490
    const session: Session = { id, peer, caller: null, giveBack() {}, messageBytes: 0, payload: null };
    sessions.add(session);
    observer.opened('websocket');
    stopChecking ??= timers.after(CHECK_MS, check);
    const closed = server.opened(
      {
        protocol: socket.protocol,
        send: (text) => new Promise((resolve) => void (peer.send(bytesOf(text), resolve) && resolve())),
        close: (code = NORMAL, reason = '') => peer.close(code, reason),
        onMessage: (receive) => socket.on('message', (data, isBinary) => onMessage(session, receive, data as Buffer, isBinary)),
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

  function onMessage(session: Session, receive: (text: string) => Promise<void>, data: Buffer, isBinary: boolean): void {
    const { peer } = session;
    if (peer.socket.readyState !== peer.socket.OPEN) return; // what comes after the close is not begun
    if (isBinary) return void peer.close(UNSUPPORTED_DATA, 'Send text.');
    const text = data.toString();
    const subscribe = readSubscribe(text);
    if (data.length > limits.maxBodyBytes && subscribe === null)
      return void peer.close(MESSAGE_TOO_BIG, tooLong(data.length, limits.maxBodyBytes).message);
    session.messageBytes = data.length;
    session.payload = subscribe?.payload ?? null;
    // graphql-ws keeps the text of a message until its operation ends: it gets one without what was asked, which it hands out at once
    void settle(session, receive(subscribe === null ? text : JSON.stringify({ ...subscribe, payload: { query: '' } })));
  }

  /** Never rejects. */
  async function settle({ id, peer }: Session, received: Promise<void>): Promise<void> {
    try {
      await received;
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
      if (stopped !== null) return refuseUpgrade(connection, 'This server is stopping: connect again.');
      if (sessions.size >= limits.maxSockets) return refuseUpgrade(connection, `This server has its ${limits.maxSockets} WebSockets open.`);
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

const refused = (originalError: Refusal): GraphQLError => new GraphQLError(originalError.message, { originalError });

const tooMany = (count: number, most: number): Refusal =>
  new Refusal('rate_limited', `The socket has ${count} operations under way; at most ${most} are allowed.`, { retryAfterMs: RETRY_MS });

const tooLong = (bytes: number, most: number): Refusal =>
  new Refusal('payload_too_large', `The message is ${bytes} bytes long; at most ${most} are allowed.`);

/** Null for what is no valid `subscribe`: graphql-ws says of it what is wrong. */
function readSubscribe(text: string): SubscribeMessage | null {
  try {
    const message = validateMessage(JSON.parse(text));
    return message.type === MessageType.Subscribe ? message : null;
  } catch {
    return null;
  }
}

function refuseUpgrade(socket: Socket, why: string): void {
  socket.on('error', () => {});
  const head = `Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(why)}\r\nRetry-After: 5`;
  socket.end(`HTTP/1.1 503 Service Unavailable\r\n${head}\r\n\r\n${why}`);
}
