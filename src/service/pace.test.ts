import { describe, expect, it } from 'vitest';
import { createPace } from './pace.ts';

/** Done as soon as it is offered and allowed: answers how late each one was, in milliseconds. */
function lateness(offers: readonly number[]): number[] {
  const pace = createPace(200);
  let last = 0;
  return offers.map((offered) => {
    last = Math.max(offered, pace.next(), last);
    pace.done(last);
    return last - offered;
  });
}

describe('a pace of one each 200 ms', () => {
  it('lets one through ahead, and then one each 200 ms', () => {
    const pace = createPace(200);
    const times: number[] = [];
    for (let now = 1_000; now < 2_000; now++) {
      if (now < pace.next()) continue;
      pace.done(now);
      times.push(now);
    }
    expect(times).toEqual([1_000, 1_001, 1_200, 1_400, 1_600, 1_800]);
  });

  it('holds up nothing that comes each 200 ms, whenever the first one came and however late one was', () => {
    for (let first = 1; first < 200; first++) {
      const steps = Array.from({ length: 50 }, (_, at) => first + at * 200);
      steps[20] = (steps[20] ?? 0) + (first % 199); // held up on its way
      expect(lateness([0, ...steps]).filter((ms) => ms > 0)).toEqual([]);
    }
  });
});
