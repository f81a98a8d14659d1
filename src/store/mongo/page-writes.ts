import { hash } from 'node:crypto';
import type { AnyBulkWriteOperation } from 'mongodb';
import type { CrawlId } from '#domain/ids.ts';
import type { DiscoveredPage, PageResult } from '#domain/page.ts';
import type { Database } from './database.ts';
import type { PageDocument, Pending } from './documents.ts';
import { writeAll } from './retry.ts';

export type PageWrites = {
  /**
   * Brings a committed batch into the pages, as one command: discovered ones where they are absent, results where still queued.
   * Repeatable, also beside others that do the same, and after later batches.
   */
  apply(crawl: CrawlId, pending: Pending): Promise<void>;
};

export const urlHash = (url: string): string => hash('sha256', url, 'base64url').slice(0, 22);

export function createPageWrites({ pages }: Database): PageWrites {
  const discover = (crawl: CrawlId, { seq, url, ...page }: DiscoveredPage): AnyBulkWriteOperation<PageDocument> => ({
    updateOne: { filter: { crawl, seq }, update: { $setOnInsert: { url, urlHash: urlHash(url), ...page } }, upsert: true },
  });
  const resolve = (crawl: CrawlId, { seq, ...result }: PageResult): AnyBulkWriteOperation<PageDocument> => ({
    updateOne: { filter: { crawl, seq, status: 'queued' }, update: { $set: result } },
  });
  return {
    apply: (crawl, { discovered, results }) =>
      writeAll(pages, [...discovered.map((page) => discover(crawl, page)), ...results.map((result) => resolve(crawl, result))]),
  };
}
