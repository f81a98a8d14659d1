import { describe, expect, it } from 'vitest';
import { newSecret } from '#domain/key-secret.ts';
import { createLog, type Log } from './telemetry.ts';

function logged(act: (log: Log) => void): string {
  const lines: string[] = [];
  act(createLog('debug', { write: (line) => void lines.push(line) }));
  return lines.join('');
}

describe('the log', () => {
  it('is one JSON line an entry, with the level by name and the time in ISO form', () => {
    const line = JSON.parse(logged((log) => log.child({ crawlId: 'c1' }).warn({ attempt: 2 }, 'again')));
    expect(line).toEqual({
      level: 'warn',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      crawlId: 'c1',
      attempt: 2,
      msg: 'again',
    });
  });

  it.each(['authorization', 'secret', 'secretHash'])('redacts the field %s', (field) => {
    expect(logged((log) => log.info({ [field]: 'do-not-tell' }, 'told'))).not.toContain('do-not-tell');
  });

  it('redacts a key in a message, in an error and deep in an object', () => {
    const secret = newSecret();
    const text = logged((log) => {
      log.error({ err: new Error(`no such key ${secret}`) }, 'failed');
      log.info({ request: { headers: [['x', { token: secret }]] } }, `asked by ${secret}`);
    });
    expect(text).not.toContain(secret);
    expect(text).toContain('[redacted]');
  });

  it('redacts what was sent as a bearer key, whatever its form', () => {
    expect(logged((log) => log.info({ raw: ['Authorization: Bearer my-own-key'] }, 'odd'))).not.toContain('my-own-key');
  });
});
