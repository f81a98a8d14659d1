import { expect, it } from 'vitest';
import { createLog } from '#telemetry.ts';
import { manualTimers } from './fixtures/manual-timers.ts';
import { createSparseWarn } from './sparse-warn.ts';

it('logs each message once in 10 s, with how often it came since', async () => {
  const lines: { msg: string; times: number }[] = [];
  const timers = manualTimers();
  const warn = createSparseWarn({ log: createLog('warn', { write: (line: string) => void lines.push(JSON.parse(line)) }), timers });
  for (let second = 0; second < 20; second++) {
    warn(new Error('away'), 'one');
    if (second === 5) warn(new Error('away'), 'another');
    await timers.advance(1_000);
  }
  warn(new Error('away'), 'one');
  expect(lines.map(({ msg, times }) => `${msg} ${times}`)).toEqual(['one 1', 'another 1', 'one 10', 'one 10']);
});
