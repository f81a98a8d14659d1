import type { ServerResponse } from 'node:http';
import type { Timers } from '#domain/timers.ts';

/** How often an answer is looked after, and after how long without its client taking anything it is cut off, in milliseconds. */
const CHECK_MS = 5_000;
const STALLED_MS = 30_000;

/** Cuts the answer off once something has waited for its client for 30 s, none of it taken; also where it waits behind an earlier answer. */
export function boundAnswer(response: ServerResponse, timers: Timers): void {
  let taken = 0;
  let takenAt = timers.now();
  let stop = timers.after(CHECK_MS, check);
  response.once('close', () => stop());

  function check(): void {
    const { bytesWritten = 0, writableLength = 0 } = response.socket ?? {};
    const waiting = response.writableLength + (response.writableNeedDrain ? 1 : 0);
    const now = timers.now();
    if (waiting === 0 || bytesWritten - writableLength > taken) takenAt = now;
    taken = bytesWritten - writableLength;
    if (now - takenAt >= STALLED_MS) return void response.destroy();
    stop = timers.after(CHECK_MS, check);
  }
}
