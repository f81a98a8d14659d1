import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { KeyId } from '#domain/ids.ts';
import { createLimitRequests, requestsExceeded } from './limit-requests.ts';

const newKeyId = (): KeyId => randomUUID() as string as KeyId;

describe('limit requests', () => {
  it('admits as many as the limit in a window, and tells what is left and until when', async () => {
    let clock = 5_000;
    const limitRequests = createLimitRequests({ limitPerMinute: 2, now: () => clock });
    const key = newKeyId();
    const told = [];
    for (let i = 0; i < 3; i++) {
      told.push(await limitRequests(key));
      clock += 10_000;
    }
    expect(told).toStrictEqual([
      { admitted: true, limit: 2, remaining: 1, resetMs: 60_000 },
      { admitted: true, limit: 2, remaining: 0, resetMs: 50_000 },
      { admitted: false, limit: 2, remaining: 0, resetMs: 40_000 },
    ]);
    clock = 64_999;
    expect(await limitRequests(key)).toMatchObject({ admitted: false, resetMs: 1 });
    clock = 65_000;
    expect(await limitRequests(key)).toStrictEqual({ admitted: true, limit: 2, remaining: 1, resetMs: 60_000 });
  });

  it('counts each key for itself', async () => {
    const limitRequests = createLimitRequests({ limitPerMinute: 1, now: () => 0 });
    const key = newKeyId();
    await limitRequests(key);
    expect(await limitRequests(key)).toMatchObject({ admitted: false });
    expect(await limitRequests(newKeyId())).toMatchObject({ admitted: true });
  });

  it('limits nothing, and tells nothing, at 0', async () => {
    const limitRequests = createLimitRequests({ limitPerMinute: 0, now: () => 0 });
    for (let i = 0; i < 10; i++) expect(await limitRequests(newKeyId())).toBeNull();
  });

  it('refuses with the time at which the window ends', () => {
    const refusal = requestsExceeded({ admitted: false, limit: 600, remaining: 0, resetMs: 1_234 });
    expect(refusal).toMatchObject({ code: 'rate_limited', facts: { retryAfterMs: 1_234 } });
  });
});

describe('limit requests with a counter of all processes', () => {
  it('judges by its count, and tells the end of its window', async () => {
    let count = 1;
    const counter = { count: async () => ({ count: count++, resetMs: 30_000 }) };
    const limitRequests = createLimitRequests({ limitPerMinute: 1, now: () => 0, counter });
    const key = newKeyId();
    expect(await limitRequests(key)).toStrictEqual({ admitted: true, limit: 1, remaining: 0, resetMs: 30_000 });
    expect(await limitRequests(key)).toStrictEqual({ admitted: false, limit: 1, remaining: 0, resetMs: 30_000 });
  });

  it('counts in the process while it cannot be asked', async () => {
    const limitRequests = createLimitRequests({ limitPerMinute: 1, now: () => 0, counter: { count: async () => null } });
    const key = newKeyId();
    expect(await limitRequests(key)).toStrictEqual({ admitted: true, limit: 1, remaining: 0, resetMs: 60_000 });
    expect(await limitRequests(key)).toMatchObject({ admitted: false });
  });
});
