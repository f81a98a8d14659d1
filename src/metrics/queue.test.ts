import { expect, test } from 'vitest';
import { unavailable } from '#domain/errors.ts';
import type { Queue } from '#store/store.ts';
import { readScraped } from './fixtures/scraped.ts';
import { createMeter } from './meter.ts';
import { measureQueue } from './queue.ts';
import { createScrape } from './scrape.ts';

test('a queue that the store does not tell of, or not in time, is missing and not empty', async () => {
  const meter = createMeter('main');
  const answers: (() => Promise<Queue>)[] = [
    async () => ({ waiting: 3, oldestMs: 1_500 }),
    () => Promise.reject(unavailable('away')),
    () => new Promise(() => {}),
    async () => ({ waiting: 0, oldestMs: 0 }),
  ];
  const prepare = measureQueue(meter, { getQueue: () => answers.shift()?.() ?? Promise.reject(new Error('asked too often')) });
  const scrape = createScrape({ meter, prepare });
  const told: (number | null)[][] = [];
  while (answers.length > 0) {
    const scraped = readScraped((await scrape()).text);
    told.push([scraped.value('crawlgate_queue_crawls'), scraped.value('crawlgate_queue_oldest_seconds')]);
  }
  expect(told).toEqual([
    [3, 1.5],
    [null, null],
    [null, null],
    [0, 0],
  ]);
});
