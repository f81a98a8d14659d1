import { expect, it } from 'vitest';
import { createLeadership } from './leadership.ts';

// A crawler thread that came after a dead one waited for the clock to catch up: nothing was reaped for that long.
it('The term of a leader ends when the clock is put back', () => {
  let now = 1_000_000;
  const { acquireLeadership } = createLeadership(() => now);
  expect(acquireLeadership('gone', 1_500)).toBe(0);
  now += 500;
  expect(acquireLeadership('next', 1_500)).toBe(1_000);
  now -= 60_000;
  expect(acquireLeadership('next', 1_500)).toBe(0);
  expect(acquireLeadership('other', 1_500)).toBe(1_500);
});
