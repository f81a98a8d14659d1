import { DEFAULT_MAX_DEPTH, DEFAULT_MAX_URLS, MOST_MAX_URLS } from '#domain/crawl.ts';
import { Refusal } from '#domain/errors.ts';
import type { Snapshot } from '#domain/snapshot.ts';
import type { GraphqlContext } from '../context.ts';
import type { Builder } from './builder.ts';
import type { CrawlRef } from './crawl.ts';

export function addStartCrawl(builder: Builder, crawl: CrawlRef): void {
  const input = builder.inputType('StartCrawlInput', {
    description: 'What to crawl.',
    fields: (t) => ({
      url: t.string({
        required: true,
        description:
          'Where the crawl starts: an absolute http or https URL without credentials, at most 2,048 characters, not a non-public address.',
      }),
      maxUrls: t.int({
        description: `The most pages that are fetched, ${DEFAULT_MAX_URLS} when absent, at least 1; above ${MOST_MAX_URLS} it becomes ${MOST_MAX_URLS}.`,
      }),
      maxDepth: t.int({
        description: `How many links away from the start page, ${DEFAULT_MAX_DEPTH} when absent; 0 is the start page only.`,
      }),
      idempotencyKey: t.string({
        description:
          '1 to 255 printable ASCII characters. Within 24 hours a repeat with the same key and input gets the crawl of the first one and starts nothing; another input with that key is refused.',
      }),
    }),
  });
  const payload = builder.objectRef<{ crawl: Snapshot }>('StartCrawlPayload').implement({
    description: 'What was started.',
    fields: (t) => ({
      crawl: t.expose('crawl', { type: crawl, description: 'The new crawl, or with `idempotencyKey` the one of the first call.' }),
    }),
  });
  builder.mutationField('startCrawl', (t) =>
    t.field({
      type: payload,
      description:
        'Starts a crawl. It is stored before the answer is sent. A key starts at most 10 crawls in any 60 seconds, by REST and GraphQL together; refused, invalid and repeated calls do not count. Needs the scope `crawls:write`.',
      args: { input: t.arg({ type: input, required: true, description: 'What to crawl.' }) },
      async resolve(_parent, { input: { url, maxUrls, maxDepth, idempotencyKey } }, context) {
        try {
          const { snapshot, starts } = await context.service.startCrawl(
            {
              url,
              maxUrls: maxUrls ?? undefined,
              maxDepth: maxDepth ?? undefined,
              idempotencyKey: idempotencyKey == null ? undefined : checkedKey(idempotencyKey),
            },
            context.caller,
          );
          context.tellStarts(starts);
          return { crawl: snapshot };
        } catch (error) {
          await tellStarts(context);
          throw error;
        }
      },
    }),
  );
}

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

function checkedKey(key: string): string {
  if (PRINTABLE.test(key)) return key;
  throw new Refusal('invalid_request', 'The idempotencyKey is not valid.', {
    errors: [{ detail: 'must be 1 to 255 printable ASCII characters', pointer: '/idempotencyKey' }],
  });
}

async function tellStarts({ service, caller, tellStarts }: GraphqlContext): Promise<void> {
  try {
    tellStarts(await service.getStartAllowance(caller));
  } catch {
    // the store does not answer: the refusal under way says so, and nothing is known of the allowance
  }
}
