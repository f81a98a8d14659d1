import { notFound } from '#domain/errors.ts';
import type { CrawlId } from '#domain/ids.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { Builder } from './builder.ts';
import type { CrawlRef } from './crawl.ts';
import { crawlIdOf } from './ids.ts';

/** Cancelling a crawl that runs, and deleting one that has ended. */
export function addEndCrawl(builder: Builder, crawl: CrawlRef): void {
  const cancelInput = builder.inputType('CancelCrawlInput', {
    description: 'What to cancel.',
    fields: (t) => ({ id: t.id({ required: true, description: 'The crawl.' }) }),
  });
  const cancelPayload = builder.objectRef<{ crawl: Snapshot }>('CancelCrawlPayload').implement({
    description: 'What was cancelled.',
    fields: (t) => ({ crawl: t.expose('crawl', { type: crawl, description: 'The crawl as it is now; it ends soon after.' }) }),
  });
  builder.mutationField('cancelCrawl', (t) =>
    t.field({
      type: cancelPayload,
      description:
        'Asks a running crawl to end. It ends `FAILED` with the reason `CANCELLED` soon after, with what it has fetched kept and analyzed; one whose analysis has begun already ends as it would have. May be repeated until then. Needs the scope `crawls:write`.',
      args: { input: t.arg({ type: cancelInput, required: true, description: 'What to cancel.' }) },
      resolve: async (_parent, { input }, { service, caller }) => ({ crawl: await service.cancelCrawl(existing(input.id), caller) }),
    }),
  );

  const deleteInput = builder.inputType('DeleteCrawlInput', {
    description: 'What to delete.',
    fields: (t) => ({ id: t.id({ required: true, description: 'The crawl.' }) }),
  });
  const deletePayload = builder.objectRef<{ deletedCrawlId: CrawlId }>('DeleteCrawlPayload').implement({
    description: 'What was deleted.',
    fields: (t) => ({ deletedCrawlId: t.exposeID('deletedCrawlId', { description: 'The id that the crawl had.' }) }),
  });
  builder.mutationField('deleteCrawl', (t) =>
    t.field({
      type: deletePayload,
      description:
        'Removes a crawl that has ended, with its pages and findings. What it used of the quota stays used. Needs the scope `crawls:write`.',
      args: { input: t.arg({ type: deleteInput, required: true, description: 'What to delete.' }) },
      async resolve(_parent, { input }, { service, caller }) {
        const id = existing(input.id);
        await service.deleteCrawl(id, caller);
        return { deletedCrawlId: id };
      },
    }),
  );
}

function existing(text: string): CrawlId {
  const id = crawlIdOf(text);
  if (id === null) throw notFound();
  return id;
}
