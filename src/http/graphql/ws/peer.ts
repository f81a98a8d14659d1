import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { frameHead } from './frame.ts';

/** One client's WebSocket, bounded in what it makes this process keep. */
export type Peer = {
  readonly socket: WebSocket;
  /**
   * Sends text, given as `bytesOf` makes it. Answers whether the system has taken it at once, as it nearly always does; else calls
   * `flushed` when it has, or never will. On a socket that closes nothing is sent.
   */
  send(bytes: string, flushed: () => void): boolean;
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

const ignore = (): void => {};

/** What may wait in a socket's buffer; no operation keeps more than one frame there, so that only floods of requests get so far. */
const MOST_BUFFERED = 1024 * 1024;
/** RFC 6455 §5.5: a control frame has room for so much reason. */
const MOST_REASON = 123;

export function createPeer(socket: WebSocket, connection: Socket, now: () => number, { keepAliveMs, stalledMs }: PeerTimes): Peer {
  let taken = 0;
  let takenAt = now();
  let pingedAt = takenAt;
  let isAlive = true;

  function onSign(): void {
    isAlive = true;
    if (socket.bufferedAmount > MOST_BUFFERED) socket.terminate(); // it asks and asks, and does not read the answers
  }
  for (const sign of ['message', 'ping', 'pong']) socket.on(sign, onSign);
  socket.on('error', ignore); // 'close' follows

  /** Since when something has waited without any of it being taken. It is found by looking now and then: noting each frame costs more. */
  function isStalled(at: number): boolean {
    const { bytesWritten, writableLength } = connection;
    if (writableLength === 0 || bytesWritten - writableLength !== taken) takenAt = at;
    taken = bytesWritten - writableLength;
    return at - takenAt >= stalledMs;
  }

  return {
    socket,
    send(bytes, flushed) {
      if (socket.readyState !== socket.OPEN) return true;
      // As `ws` would, which writes nothing later than it is told to while it neither compresses nor sends a Blob; but it encodes the text
      // for each socket anew and writes each frame in two parts. A callback for each frame would cost a third more.
      connection.write(frameHead(bytes.length) + bytes, 'latin1');
      if (connection.writableLength === 0) return true;
      connection.write('', flushed); // its turn comes after what waits
      return false;
    },
    close(code, reason) {
      const whole = new TextDecoder().decode(Buffer.from(reason).subarray(0, MOST_REASON), { stream: true }); // up to its last whole character
      socket.close(code, whole);
    },
    check() {
      const at = now();
      if (isStalled(at)) return socket.terminate();
      if (at - pingedAt < keepAliveMs || socket.readyState !== socket.OPEN) return;
      if (!isAlive) return socket.terminate();
      isAlive = false;
      pingedAt = at;
      socket.ping();
    },
  };
}
