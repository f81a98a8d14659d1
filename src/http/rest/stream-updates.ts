import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Caller } from '#domain/account.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Timers } from '#domain/timers.ts';
import type { Watch } from '#service/watch.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpObserver } from '../observe.ts';
import { respond } from '../reply.ts';
import { createTakeSlot } from '../stream-slots.ts';
import { renderCrawlUpdate } from './render.ts';

/**
 * Answers with what `updates` gives, as server-sent events (HTML standard, §9.2), for as long as it goes on. A client that reads slowly
 * gets fewer, the latest ones; one that takes nothing for 30 s is cut off. When the watch is refused the stream just ends: the
 * client comes again, and is then told why not. Throws `rate_limited` and `unavailable` when too many are open.
 */
export type StreamUpdates = (updates: Watch, caller: Caller, exchange: Exchange) => Response;

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'private, no-store',
  /** nginx would else gather what it gets. */
  'X-Accel-Buffering': 'no',
};

/** Less than the idle time of the usual proxies, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;
const STALLED_MS = 30_000;
const LIMITS = { what: 'streams of updates', perKey: 1_000, perProcess: 10_000 };

export function createStreamUpdates(timers: Timers, { updates: counts, opened, closed }: HttpObserver): StreamUpdates {
  const takeSlot = createTakeSlot(LIMITS);
  /** Watchers of one crawl get the same bytes. */
  const frames = new WeakMap<Snapshot, string>();

  function frameOf(snapshot: Snapshot): string {
    const frame =
      frames.get(snapshot) ?? `id: ${snapshot.version}\nevent: update\ndata: ${JSON.stringify(renderCrawlUpdate(snapshot))}\n\n`;
    frames.set(snapshot, frame);
    return frame;
  }

  async function writeAll(updates: Watch, response: ServerResponse): Promise<void> {
    let writing: Promise<void> | null = null;
    let stopAlarm = keepAlive();
    response.once('close', () => {
      stopAlarm();
      void updates.return();
    });
    updates.onEnd(({ kind }) => {
      if (kind !== 'refused') return;
      if (writing === null) response.end();
      else response.destroy();
    });

    function keepAlive(): () => void {
      return timers.after(KEEP_ALIVE_MS, () => void write(': keep-alive\n\n'));
    }

    /** Resolves when the system has taken `text`, so that at most one piece is kept here; or when the client has gone. */
    async function write(text: string): Promise<void> {
      stopAlarm();
      stopAlarm = timers.after(STALLED_MS, () => response.destroy());
      writing = new Promise((resolve) => {
        response.once('close', resolve);
        response.write(text, () => {
          response.off('close', resolve);
          resolve();
        });
      });
      await writing;
      writing = null;
      stopAlarm();
      if (!response.closed) stopAlarm = keepAlive();
    }

    for await (const snapshot of updates) {
      while (writing !== null) await writing; // a keep-alive
      counts.rest_sse++;
      await write(frameOf(snapshot));
    }
    response.end();
  }

  return (updates, caller, exchange) => {
    const { request, response } = exchange;
    if (request.method === 'HEAD' || response.closed) {
      void updates.return();
      return respond({ status: 200, headers: HEADERS, body: null }, exchange);
    }
    let giveBack: () => void;
    try {
      giveBack = takeSlot(caller.keyId);
    } catch (error) {
      void updates.return();
      throw error;
    }
    exchange.isStream = true;
    opened('rest_sse');
    response.once('close', () => {
      giveBack();
      closed('rest_sse');
    });
    response.writeHead(200, { ...exchange.headers, ...HEADERS });
    response.flushHeaders();
    writeAll(updates, response).catch(() => {}); // a refusal, dealt with when the watch ended
    return RESPONSE_ALREADY_SENT;
  };
}
