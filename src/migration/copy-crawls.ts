import type { OrganizationId } from '#domain/ids.ts';
import type { Copies } from '#store/copy-store.ts';
import type { CopyRecords, Stores } from './copy-records.ts';
import type { Progress } from './counts.ts';

export type CrawlsToCopy = Stores & {
  readonly records: CopyRecords;
  readonly progress: Progress;
  readonly signal: AbortSignal;
};

/** Crawls that are read, and looked for in the target, in one step; and of how many at once the pages are copied. */
const CRAWLS_READ = 64;
const CRAWLS_AT_ONCE = 4;

/**
 * Copies an organization's crawls, each after its pages and findings: one that is in the target is there whole, and its pages are not
 * read again.
 */
export async function copyCrawls({ from, records, progress, signal }: CrawlsToCopy, organizationId: OrganizationId): Promise<void> {
  async function copyCrawl(crawl: Copies['crawl']): Promise<void> {
    const owner = { organizationId, crawlId: crawl.id };
    await records.copyAll('page', owner, (count) => progress.add('page', count), signal);
    await records.copyAll('finding', owner, (count) => progress.add('finding', count), signal);
    await records.store('crawl', { organizationId }, [crawl]);
    progress.add('crawl', 1);
  }

  for (let after: Copies['crawl'] | null = null; ; ) {
    const crawls: Copies['crawl'][] = await from.readCopies('crawl', { organizationId }, after, CRAWLS_READ);
    if (crawls.length === 0) return;
    after = crawls.at(-1) ?? null;
    const there = await records.findSame('crawl', { organizationId }, crawls);
    const waiting = crawls.filter(({ id }) => !there.has(id));
    for (const { id, counters, findingsCount } of crawls) {
      if (!there.has(id)) continue;
      progress.add('page', counters.discovered);
      progress.add('finding', findingsCount ?? 0);
      progress.add('crawl', 1);
    }
    const copyNext = async (): Promise<void> => {
      try {
        for (let crawl = waiting.shift(); crawl !== undefined; crawl = waiting.shift()) {
          signal.throwIfAborted();
          await copyCrawl(crawl);
        }
      } catch (error) {
        waiting.length = 0; // the others end with what they are at
        throw error;
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: CRAWLS_AT_ONCE }, copyNext));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }
}
