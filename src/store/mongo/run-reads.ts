import type { CrawlId, LeaseToken } from '#domain/ids.ts';
import type { RunStore } from '../run-store.ts';
import { heldBy } from './crawl-steps.ts';
import { atMost, type Database } from './database.ts';
import { linkedPageOf, pageOf, WITHOUT_LINKS } from './page-records.ts';
import type { PageWrites } from './page-writes.ts';

export type RunReads = Pick<RunStore, 'getQueue' | 'readFrontier' | 'readPages' | 'readPagesBySeq' | 'getRobots'>;

export function createRunReads({ crawls, pages, robots }: Database, pageWrites: PageWrites): RunReads {
  const isHeld = async (id: CrawlId, token: LeaseToken): Promise<boolean> =>
    (await crawls.findOne(heldBy(id, token), { projection: { _id: 1 } })) !== null;
  return {
    async getQueue() {
      const [queue] = await crawls
        .aggregate<{ waiting: number; since: Date; now: Date }>([
          { $match: { state: 'running', 'lease.token': null } },
          { $group: { _id: null, waiting: { $sum: 1 }, since: { $min: '$startedAt' } } },
          { $addFields: { now: '$$NOW' } },
        ])
        .toArray();
      if (queue === undefined) return { waiting: 0, oldestMs: 0 };
      return { waiting: queue.waiting, oldestMs: Math.max(0, queue.now.getTime() - queue.since.getTime()) };
    },
    async readFrontier(crawlId, token, afterSeq, limit) {
      const crawl = await crawls.findOne(heldBy(crawlId, token), { projection: afterSeq < 0 ? { pending: 1 } : { _id: 1 } });
      if (crawl === null) return 'lost';
      // A worker that begins to read may follow one that died between a commit and its pages, or be one whose pages were cut off.
      if (afterSeq < 0 && crawl.pending !== null) await pageWrites.apply(crawlId, crawl.pending);
      const found = await atMost(
        pages
          .find({ crawl: crawlId, seq: { $gt: afterSeq } }, { projection: { _id: 0, seq: 1, url: 1, depth: 1, redirects: 1, status: 1 } })
          .sort({ seq: 1 }),
        limit,
      );
      return found.map(({ seq, url, depth, redirects, status }) => ({ seq, url, depth, redirects, status }));
    },
    async readPages(crawlId, token, afterSeq, limit) {
      if (!(await isHeld(crawlId, token))) return 'lost';
      const found = await atMost(pages.find({ crawl: crawlId, seq: { $gt: afterSeq } }).sort({ seq: 1 }), limit);
      return found.map(linkedPageOf);
    },
    async readPagesBySeq(crawlId, token, seqs) {
      if (!(await isHeld(crawlId, token))) return 'lost';
      return (await atMost(pages.find({ crawl: crawlId, seq: { $in: [...seqs] } }, { projection: WITHOUT_LINKS }), seqs.length)).map(
        pageOf,
      );
    },
    async getRobots(origin) {
      const found = await robots.findOne({ _id: origin, $expr: { $gt: ['$expiresAt', '$$NOW'] } });
      if (found === null) return null;
      const { status, body, error, fetchedAt, expiresAt } = found;
      return { status, body, error, fetchedAt: fetchedAt.getTime(), expiresAt: expiresAt.getTime() };
    },
  };
}
