import type { WebSocket } from 'ws';

/** One client's WebSocket, bounded in what it makes this process keep. */
export type Peer = {
  readonly socket: WebSocket;
  /** Calls `flushed` when the system has taken the text, or with the error when it never will. Nothing once the socket closes. */
  send(text: string, flushed: (error?: Error | null) => void): void;
  close(code: number, reason: string): void;
  /** Pings, or cuts off a peer that is gone or takes nothing; to be called every few seconds. */
  check(): void;
};

export type PeerTimes = {
  /** How often a quiet peer is pinged; one that has not answered by the next time is gone. In milliseconds. */
  readonly keepAliveMs: number;
  /** A peer that takes nothing for so long, while something waits for it, is cut off. In milliseconds. */
  readonly stalledMs: number;
};

/** What may wait in a socket's buffer; no operation keeps more than one frame there, so that only floods of requests get so far. */
const MOST_BUFFERED = 1024 * 1024;
/** RFC 6455 §5.5: a control frame has room for so much reason. */
const MOST_REASON = 123;

export function createPeer(socket: WebSocket, now: () => number, { keepAliveMs, stalledMs }: PeerTimes): Peer {
  let unflushed = 0;
  let progressAt = 0;
  let pingedAt = now();
  let isAlive = true;

  function onFlushed(): void {
    unflushed--;
    progressAt = now();
  }
  function onSign(): void {
    isAlive = true;
    if (socket.bufferedAmount > MOST_BUFFERED) socket.terminate(); // it asks and asks, and does not read the answers
  }
  for (const sign of ['message', 'ping', 'pong']) socket.on(sign, onSign);
  socket.on('error', () => {}); // 'close' follows

  return {
    socket,
    send(text, flushed) {
      if (socket.readyState !== socket.OPEN) return flushed(new Error('The socket is closed.'));
      if (unflushed++ === 0) progressAt = now();
      socket.send(text, (error) => {
        onFlushed();
        flushed(error);
      });
    },
    close(code, reason) {
      socket.close(code, Buffer.from(reason).subarray(0, MOST_REASON).toString());
    },
    check() {
      const at = now();
      if (unflushed > 0 && at - progressAt >= stalledMs) return socket.terminate();
      if (at - pingedAt < keepAliveMs || socket.readyState !== socket.OPEN) return;
      if (!isAlive) return socket.terminate();
      isAlive = false;
      pingedAt = at;
      socket.ping();
    },
  };
}
