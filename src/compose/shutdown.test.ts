import { describe, expect, it } from 'vitest';
import { createLog } from '#telemetry.ts';
import { createShutdown } from './shutdown.ts';

const open = () => {
  const lines: string[] = [];
  const cut = new AbortController();
  const shutdown = createShutdown(createLog('info', { write: (line: string) => void lines.push(line) }), cut.signal);
  return { shutdown, cut, lines };
};
const never = new Promise<void>(() => {});

describe('the stop', () => {
  it('runs the steps one after the other, the latest first, once', async () => {
    const { shutdown } = open();
    const done: string[] = [];
    shutdown.add('opened first', 1_000, () => void done.push('opened first'));
    shutdown.add('opened last', 1_000, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      done.push('opened last');
    });
    await Promise.all([shutdown.run(), shutdown.run()]);
    expect(done).toEqual(['opened last', 'opened first']);
  });

  it('goes on after a step that failed, and logs it', async () => {
    const { shutdown, lines } = open();
    let closed = false;
    shutdown.add('closes', 1_000, () => {
      closed = true;
    });
    shutdown.add('breaks', 1_000, () => {
      throw new Error('broken');
    });
    await shutdown.run();
    expect(closed).toBe(true);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('"step":"breaks"');
  });

  it('goes on after a step that takes too long, and tells it so', async () => {
    const { shutdown, lines } = open();
    let told = false;
    shutdown.add('hangs', 20, (over) => {
      over.addEventListener('abort', () => {
        told = true;
      });
      return never;
    });
    await shutdown.run();
    expect(told).toBe(true);
    expect(lines[0]).toContain('not done within 20 ms');
  });

  it('is cut short: the step under way and those left are not waited for, but begun', async () => {
    const { shutdown, cut, lines } = open();
    const begun: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      shutdown.add(name, 60_000, () => {
        begun.push(name);
        return never;
      });
    }
    const ended = shutdown.run();
    cut.abort();
    await ended;
    expect(begun).toEqual(['three', 'two', 'one']);
    expect(lines.every((line) => line.includes('cut short'))).toBe(true);
  });
});
