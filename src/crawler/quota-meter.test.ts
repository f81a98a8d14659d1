import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Hold } from '#domain/quota.ts';
import type { Grant } from '#store/store.ts';
import type { Ticket } from './frontier.ts';
import { createQuotaMeter, type QuotaMeter } from './quota-meter.ts';

type Script = { limit: number; used: number; othersHold: number };

/** A meter on an organization's quota that answers as the store's contract says, with this crawl's hold. */
function open({ limit, used, othersHold }: Script, holds: Hold[] = [], wanted = 1_000) {
  const organization = { limit, used, othersHold };
  const granted = new Map(holds.map((hold) => [hold.month, hold.granted]));
  const asked: { month: string; wanted: number }[] = [];
  const errors: unknown[] = [];
  const stop = new AbortController();
  let fetched = 0;
  const meter = createQuotaMeter({
    holds,
    async grant(month, count): Promise<Grant> {
      asked.push({ month, wanted: count });
      const mine = granted.get(month) ?? 0;
      const free = organization.limit - organization.used - organization.othersHold - mine;
      const chunk = Math.min(100, Math.max(0, free), count);
      if (chunk === 0 && mine <= fetched) return { kind: organization.othersHold > 0 ? 'wait' : 'exhausted' };
      granted.set(month, mine + chunk);
      return { kind: 'granted', granted: mine + chunk, used: fetched };
    },
    wanted: () => wanted - fetched,
    now: Date.now,
    waitMs: 1_000,
    signal: stop.signal,
    onError: (error) => errors.push(error),
  });
  return {
    meter,
    organization,
    asked,
    errors,
    stop,
    charge(ticket: Ticket) {
      fetched++;
      meter.charge(ticket);
    },
  };
}

const acquire = async (meter: QuotaMeter): Promise<Ticket> => {
  const ticket = await meter.acquire();
  if (ticket === 'exhausted') throw new Error('exhausted');
  return ticket;
};

describe('the quota meter', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 21) });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('lets no more requests be under way or charged than are granted', async () => {
    const { meter, charge } = open({ limit: 3, used: 0, othersHold: 0 });
    const tickets = [await acquire(meter), await acquire(meter), await acquire(meter)];
    const fourth = meter.acquire();
    let answered = false;
    void fourth.then(() => {
      answered = true;
    });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(answered).toBe(false);
    for (const ticket of tickets) charge(ticket);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await fourth).toBe('exhausted');
  });

  it('gives what a redirect did not use to the next request', async () => {
    const { meter } = open({ limit: 1, used: 0, othersHold: 0 });
    const first = await acquire(meter);
    const second = meter.acquire();
    await vi.advanceTimersByTimeAsync(10);
    meter.release(first);
    expect(await second).toEqual({ month: '2026-11' });
  });

  it('asks for the next chunk before the last one is used up', async () => {
    const { meter, asked, charge } = open({ limit: 1_000, used: 0, othersHold: 0 });
    for (let page = 0; page < 69; page++) charge(await acquire(meter));
    expect(asked).toEqual([
      { month: '2026-11', wanted: 1_000 },
      { month: '2026-11', wanted: 900 },
    ]);
  });

  it('asks for no more than the crawl may still fetch', async () => {
    const { meter, asked } = open({ limit: 1_000, used: 0, othersHold: 0 }, [], 5);
    await acquire(meter);
    expect(asked).toEqual([{ month: '2026-11', wanted: 5 }]);
  });

  it('waits while other crawls may give something back, and asks again', async () => {
    const { meter, organization, asked } = open({ limit: 10, used: 0, othersHold: 10 });
    const ticket = meter.acquire();
    await vi.advanceTimersByTimeAsync(2_500);
    expect(asked.length).toBe(3);
    organization.othersHold = 4;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ticket).toEqual({ month: '2026-11' });
  });

  it('does not ask again at once while what is under way may still use up the last of the quota', async () => {
    const { meter, asked } = open({ limit: 2, used: 0, othersHold: 0 });
    const tickets = [await acquire(meter), await acquire(meter)];
    const next = meter.acquire();
    await vi.advanceTimersByTimeAsync(900);
    expect(asked.length).toBeLessThanOrEqual(3);
    for (const ticket of tickets) meter.release(ticket);
    await expect(next).resolves.toMatchObject({ month: expect.any(String) });
  });

  it('goes on with what the crawl held before', async () => {
    const { meter, asked } = open({ limit: 1_000, used: 0, othersHold: 0 }, [{ month: '2026-11', granted: 100, used: 40 }], 60);
    await acquire(meter);
    expect(asked).toEqual([]);
  });

  it('uses the grant of the month in which the request is sent', async () => {
    vi.setSystemTime(Date.UTC(2026, 10, 30, 23, 59, 59, 900));
    const { meter, asked } = open({ limit: 1_000, used: 0, othersHold: 0 });
    expect(await acquire(meter)).toEqual({ month: '2026-11' });
    vi.setSystemTime(Date.UTC(2026, 11, 1));
    expect(await acquire(meter)).toEqual({ month: '2026-12' });
    expect(asked.map(({ month }) => month)).toEqual(['2026-11', '2026-12']);
  });

  it('rejects who waits when the crawl stops', async () => {
    const { meter, stop } = open({ limit: 1, used: 0, othersHold: 1 });
    const waiting = expect(meter.acquire()).rejects.toThrow('stopped');
    stop.abort(new Error('stopped'));
    await waiting;
    await expect(meter.acquire()).rejects.toThrow('stopped');
  });
});
