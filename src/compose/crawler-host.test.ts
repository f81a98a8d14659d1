import { expect, test } from 'vitest';
import { createLog } from '#telemetry.ts';
import { createCrawlerHost } from './crawler-host.ts';

const log = createLog('silent', { write() {} });
const thread = (code: string): URL => new URL(`data:text/javascript,${encodeURIComponent(code)}`);

/** Keeps a record of what the host does; `reached` resolves once that many entries are there. */
function recorder() {
  const record: string[] = [];
  let check = () => {};
  return {
    record,
    add(entry: string) {
      record.push(entry);
      check();
    },
    reached: (count: number) =>
      new Promise<void>((resolve) => {
        check = () => {
          if (record.length >= count) resolve();
        };
        check();
      }),
  };
}

test('what a thread that ended unasked has left behind is tidied up before the next one starts', async () => {
  const { record, add, reached } = recorder();
  const host = createCrawlerHost({
    entry: thread('process.exit(3)'),
    prepare() {
      add('start');
      return { workerData: null, transferList: [] };
    },
    async onEnded() {
      add('tidy up');
      await new Promise((resolve) => setImmediate(resolve));
      add('tidied up');
    },
    log,
  });
  host.start();
  await reached(4);
  await host.stop(new AbortController().signal);
  expect(record.slice(0, 4)).toEqual(['start', 'tidy up', 'tidied up', 'start']);
});

test('the next thread starts although tidying up failed', async () => {
  const { record, add, reached } = recorder();
  const host = createCrawlerHost({
    entry: thread('process.exit(3)'),
    prepare() {
      add('start');
      return { workerData: null, transferList: [] };
    },
    onEnded: () => Promise.reject(new Error('the store does not answer')),
    log,
  });
  host.start();
  await reached(2);
  await host.stop(new AbortController().signal);
  expect(record.slice(0, 2)).toEqual(['start', 'start']);
});

test('a thread that does not end by itself is ended by force when the stop is over, and left nothing to tidy up', async () => {
  const { record, add } = recorder();
  const host = createCrawlerHost({
    entry: thread('setInterval(() => {}, 1000)'),
    prepare: () => ({ workerData: null, transferList: [] }),
    onEnded: async () => add('tidy up'),
    log,
  });
  host.start();
  const over = new AbortController();
  const stopped = host.stop(over.signal);
  over.abort();
  await stopped;
  expect(record).toEqual([]);
});
