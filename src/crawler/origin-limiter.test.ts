import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOriginLimiters, type Lane, type LaneOptions } from './origin-limiter.ts';

const never = new AbortController().signal;
const options = (some: Partial<LaneOptions> = {}): LaneOptions => ({ leases: () => 1, rate: null, crawlDelayMs: () => 0, ...some });
const limiters = (concurrency = 8) => createOriginLimiters({ concurrency, maxPauseMs: 120_000, now: Date.now });

/** Asks for `count` turns and notes when each came, since now. */
function turns(lane: Lane, count: number): number[] {
  const began = Date.now();
  const times: number[] = [];
  for (let turn = 0; turn < count; turn++) void lane.acquire(never).then(() => times.push(Date.now() - began));
  return times;
}

/** Takes as many turns as there are at once, and answers how many. */
async function takeAll(lane: Lane): Promise<number> {
  const stop = new AbortController();
  let count = 0;
  const asked = Array.from({ length: 16 }, () => lane.acquire(stop.signal).then(() => count++));
  await vi.advanceTimersByTimeAsync(0);
  stop.abort(new Error('counted'));
  await Promise.allSettled(asked);
  return count;
}

describe('an origin', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('gets so many requests a second', async () => {
    const times = turns(limiters(100).lane('http://a', options({ rate: 10 })), 30);
    await vi.advanceTimersByTimeAsync(1_990);
    expect(times.length).toBe(20);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(times.length).toBe(30);
  });

  it('gets so many requests at a time, and the next when one is done', async () => {
    const lane = limiters(3).lane('http://a', options());
    const times = turns(lane, 5);
    await vi.advanceTimersByTimeAsync(0);
    expect(times.length).toBe(3);
    lane.done({ kind: 'fine' });
    await vi.advanceTimersByTimeAsync(0);
    expect(times.length).toBe(4);
  });

  it('is shared by the crawls of this process', async () => {
    const all = limiters(8);
    const both = [all.lane('http://a', options({ rate: 10 })), all.lane('http://a', options({ rate: 10 }))].map((lane) => turns(lane, 50));
    await vi.advanceTimersByTimeAsync(990);
    expect(both.map((times) => times.length)).toEqual([4, 4]); // four of the eight at a time each
    const other = turns(all.lane('http://b', options({ rate: 10 })), 8);
    await vi.advanceTimersByTimeAsync(990);
    expect(other.length).toBe(8);
  });

  it('is shared with the crawls of other processes, as the last heartbeat counted them', async () => {
    let leases = 4;
    const lane = limiters(100).lane('http://a', options({ rate: 10, leases: () => leases }));
    const times = turns(lane, 100);
    await vi.advanceTimersByTimeAsync(1_990);
    expect(times.length).toBe(5);
    leases = 1;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(times.length).toBeGreaterThanOrEqual(20);
  });

  it('is left alone for as long as Retry-After asks', async () => {
    const lane = limiters().lane('http://a', options());
    await lane.acquire(never);
    lane.done({ kind: 'busy', retryAfterMs: 7_000 });
    const times = turns(lane, 1);
    await vi.advanceTimersByTimeAsync(6_999);
    expect(times).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(times).toEqual([7_000]);
  });

  it('gets half as much after errors, at most once a second, and regains it slowly', async () => {
    const lane = limiters(16).lane('http://a', options());
    const parallel = async (): Promise<number> => {
      const times = turns(lane, 16);
      await vi.advanceTimersByTimeAsync(0);
      const count = times.length;
      for (let turn = 0; turn < 16; turn++) {
        lane.done(null);
        await vi.advanceTimersByTimeAsync(0);
      }
      return count;
    };
    const once = async (kind: 'error' | 'fine'): Promise<void> => {
      await lane.acquire(never);
      lane.done({ kind });
    };
    expect(await parallel()).toBe(16);
    await once('error');
    await once('error');
    expect(await parallel()).toBe(8);
    await vi.advanceTimersByTimeAsync(1_000);
    await once('error');
    expect(await parallel()).toBe(4);
    for (let answer = 0; answer < 24; answer++) await once('fine');
    expect(await parallel()).toBe(16);
  });

  // Of a site that takes two connections at a time, and resets more, every second page was lost.
  it('is left alone for a while when it drops one of several connections, and gets more again the later the more often it did', async () => {
    const lane = limiters(16).lane('http://a', options());
    const acquire = async (): Promise<number> => {
      const began = Date.now();
      const acquired = lane.acquire(never);
      await vi.advanceTimersToNextTimerAsync();
      await acquired;
      return Date.now() - began;
    };
    const fine = async (): Promise<number> => {
      const waited = await acquire();
      lane.done({ kind: 'fine' });
      return waited;
    };
    /** One of two requests under way is dropped. */
    const drop = async (): Promise<void> => {
      await acquire();
      await acquire();
      lane.done({ kind: 'dropped' });
      lane.done(null);
    };
    const atOnce = async (): Promise<number> => {
      const count = await takeAll(lane);
      for (let one = 0; one < count; one++) lane.done(null);
      return count;
    };
    const answersUntilAll = async (): Promise<number> => {
      let answers = 0;
      for (; (await atOnce()) < 16; answers++) await fine();
      return answers;
    };

    await drop();
    expect(await fine()).toBe(0); // it has never answered: it is away, and waiting does not help
    await vi.advanceTimersByTimeAsync(1_000);
    await drop();
    expect(await fine()).toBe(2_000);
    const once = await answersUntilAll();
    await drop();
    expect(await fine()).toBe(2_000);
    await drop();
    expect(await fine()).toBe(2_000);
    expect(await answersUntilAll()).toBeGreaterThanOrEqual(2 * once);

    await acquire();
    lane.done({ kind: 'dropped' }); // nothing else was under way: one is not too many
    expect(await fine()).toBe(0);
  });

  // Origins that were left while they got less were never forgotten, and a worker met new ones for as long as it ran.
  it('is remembered when it was slowed down and left, unless 10,000 others have been left so since', async () => {
    const all = limiters(16);
    const slowDown = async (origin: string): Promise<void> => {
      const lane = all.lane(origin, options());
      await lane.acquire(never);
      lane.done({ kind: 'error' });
      lane.leave();
    };
    const atOnce = async (origin: string): Promise<number> => {
      const lane = all.lane(origin, options());
      const count = await takeAll(lane);
      lane.leave();
      return count;
    };
    await slowDown('http://first');
    await slowDown('http://second');
    expect(await atOnce('http://first')).toBe(8); // by which it is the one left last
    for (let other = 0; other < 9_999; other++) await slowDown(`http://other-${other}`);
    expect(await atOnce('http://second')).toBe(16);
    expect(await atOnce('http://first')).toBe(8);
  });

  it('gets a request each Crawl-delay, also without a rate', async () => {
    const times = turns(limiters().lane('http://a', options({ crawlDelayMs: () => 5_000 })), 3);
    await vi.advanceTimersByTimeAsync(11_000);
    expect(times.length).toBe(3);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(4_950);
  });

  it('is not waited for any longer when the crawl stops', async () => {
    const lane = limiters(1).lane('http://a', options());
    await lane.acquire(never);
    const stop = new AbortController();
    const turn = expect(lane.acquire(stop.signal)).rejects.toThrow('stopped');
    stop.abort(new Error('stopped'));
    await turn;
    lane.done(null);
    expect(turns(lane, 1)).toEqual([]);
    await vi.advanceTimersByTimeAsync(0);
  });
});
