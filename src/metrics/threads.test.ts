import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, expect, test } from 'vitest';
import { readScraped, type Scraped } from './fixtures/scraped.ts';
import { createMeter } from './meter.ts';
import { createScrape } from './scrape.ts';
import { createThreadMetrics } from './threads.ts';

const threads: Worker[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.terminate();
});

function startProcess() {
  const metrics = createThreadMetrics();
  const scrape = createScrape({ meter: createMeter('main'), threads: metrics });
  const wake = new Int32Array(new SharedArrayBuffer(4));
  return {
    wake,
    scrape: async (): Promise<Scraped> => readScraped((await scrape()).text),
    async startThread(): Promise<Worker> {
      const port = metrics.connect('crawler');
      const workerData = { port, wake };
      const thread = new Worker(new URL('./fixtures/hung-thread.ts', import.meta.url), { workerData, transferList: [port] });
      threads.push(thread);
      await once(thread, 'message'); // it serves
      return thread;
    },
  };
}

const lost = (scraped: Scraped) => scraped.value('crawlgate_leases_lost_total', { thread: 'crawler' });
const up = (scraped: Scraped) => scraped.value('crawlgate_thread_up', { thread: 'crawler' });

test('a scrape has what another thread counts, under the name of that thread', async () => {
  const { startThread, scrape } = startProcess();
  await startThread();
  const scraped = await scrape();
  expect([up(scraped), lost(scraped)]).toEqual([1, 7]);
  expect(scraped.value('crawlgate_thread_up', { thread: 'main' })).toBe(1);
});

test('a thread that hangs is told as missing, holds up no scrape, and is there again when it goes on', async () => {
  const { startThread, scrape, wake } = startProcess();
  const thread = await startThread();
  thread.postMessage('hang');
  await once(thread, 'message');
  const began = performance.now();
  const during = await scrape();
  const again = await scrape();
  expect(performance.now() - began).toBeLessThan(20_000);
  expect([up(during), lost(during), up(again)]).toEqual([0, null, 0]);
  Atomics.store(wake, 0, 1);
  Atomics.notify(wake, 0);
  const after = await scrape();
  expect([up(after), lost(after)]).toEqual([1, 7]);
});

test('a thread that has ended is told as missing at once, and its successor counts from the start', async () => {
  const { startThread, scrape } = startProcess();
  const first = await startThread();
  await scrape();
  await first.terminate();
  const between = await scrape();
  expect([up(between), lost(between)]).toEqual([0, null]);
  await startThread();
  expect(up(await scrape())).toBe(1);
});

test('scrapes that come at once read the threads once', async () => {
  const metrics = createThreadMetrics();
  let readings = 0;
  const meter = createMeter('main');
  meter.gauge('crawlgate_crawls_running', () => ++readings);
  const scrape = createScrape({ meter, threads: metrics });
  const answers = await Promise.all([scrape(), scrape(), scrape()]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(readings).toBe(1);
});
