import { z } from '@hono/zod-openapi';
import { CRAWL_PHASES, CRAWL_STATES, DEFAULT_MAX_DEPTH, DEFAULT_MAX_URLS, MOST_MAX_URLS } from '#domain/crawl.ts';
import { SEVERITIES } from '#domain/finding.ts';
import { isUuid, type SiteId } from '#domain/ids.ts';
import { PAGE_STATUSES } from '#domain/page.ts';
import { DEFAULT_LIMIT, MOST_LIMIT } from '#service/list.ts';

const EXAMPLE_ID = '5f0c1f4e-6f0a-4f5e-9f59-0a3c6f2f8a11';

const id = (description: string) => z.string().openapi({ format: 'uuid', description, example: EXAMPLE_ID });
const time = (description: string) => z.string().openapi({ format: 'date-time', description, example: '2026-11-21T03:05:26.537Z' });
const count = (description: string) => z.number().openapi({ type: 'integer', minimum: 0, description, example: 42 });
/** A whole number of any size: `int()` of zod refuses 1e20, which is to be clamped. */
const whole = (least: number) => {
  const accepts = (value: number): boolean => Number.isInteger(value) && value >= least;
  return z.number().refine(accepts, `must be a whole number, at least ${least}`).openapi({ type: 'integer', minimum: least });
};

const state = z.enum(CRAWL_STATES).openapi({ description: '`done` and `failed` are final.', example: 'done' });
const host = z.string().openapi({ description: 'The hostname without port, in punycode.', example: 'example.com' });
const crawlFields = {
  id: id('The crawl.'),
  host,
  state,
  urlsCrawled: count('Pages fetched so far.'),
  findingsCount: z
    .number()
    .nullable()
    .openapi({ type: ['integer', 'null'], description: 'Null until analysis has completed; every `done` crawl has a number.', example: 7 }),
};
const cursorOut = z
  .string()
  .nullable()
  .openapi({ description: 'Where the list goes on: pass it as `cursor`. Null at its end.', example: 'WzEsIlh4Il0' });

export const noQuery = z.strictObject({});

export const crawlParams = z.object({ id: id('The crawl.') });

export const StartCrawlBody = z
  .strictObject({
    url: z.string().openapi({
      description:
        'Where the crawl starts: an absolute http or https URL without credentials, at most 2,048 characters, not a non-public address.',
      example: 'https://example.com/',
    }),
    maxUrls: whole(1)
      .optional()
      .openapi({
        default: DEFAULT_MAX_URLS,
        description: `The most pages that are fetched; above ${MOST_MAX_URLS} it becomes ${MOST_MAX_URLS}.`,
        example: 500,
      }),
    maxDepth: whole(0).optional().openapi({
      default: DEFAULT_MAX_DEPTH,
      description: 'How many links away from the start page; 0 is the start page only.',
      example: 3,
    }),
  })
  .openapi('StartCrawl');

export const idempotencyHeaders = z.object({
  'Idempotency-Key': z.string().min(1).max(255).optional().openapi({
    description:
      '1 to 255 printable ASCII characters. Within 24 hours a repeat with the same key and request gets the answer of the first one and starts nothing; another request with that key is refused.',
    example: 'nightly-2026-11-21',
  }),
});

export const conditionalHeaders = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .openapi({ description: 'The `ETag` of an earlier answer; 304 while nothing has changed.', example: 'W/"7"' }),
});

export const StartedCrawl = z
  .strictObject({
    id: id('The new crawl.'),
    url: z.string().openapi({ description: 'Its address.', example: `/v1/crawls/${EXAMPLE_ID}` }),
  })
  .openapi('StartedCrawl');

export const Crawl = z
  .strictObject({
    ...crawlFields,
    error: z.string().nullable().openapi({
      description: 'Why the crawl failed, one sentence; null unless the state is `failed`.',
      example: 'Could not connect to example.com: the certificate has expired.',
    }),
  })
  .openapi('Crawl');

export const CrawlUpdate = Crawl.extend({
  phase: z.enum(CRAWL_PHASES).openapi({ description: 'Finer than `state`, and never in contradiction to it.', example: 'fetching' }),
  version: count('Rises with every change; the `id` of the event.'),
}).openapi('CrawlUpdate');

export const resumingHeaders = z.object({
  'Last-Event-ID': z.string().optional().openapi({
    description: 'The `id` of the last event that was received; the crawl is sent only once it is newer.',
    example: '7',
  }),
});

export const CrawlListItem = z
  .strictObject({
    ...crawlFields,
    startedAt: time('When the start was accepted; never changes.'),
    finishedAt: z
      .string()
      .nullable()
      .openapi({ format: 'date-time', description: 'Null until finished.', example: '2026-11-21T03:06:02.004Z' }),
  })
  .openapi('CrawlListItem');

export const Page = z
  .strictObject({
    url: z.string().openapi({ description: 'The address of the page, without fragment.', example: 'https://example.com/about' }),
    status: z.enum(PAGE_STATUSES).openapi({
      description:
        '`queued` waits; `fetched` was answered; `redirected` was answered by a redirect; `failed` got no response; `blocked` was not asked for (robots.txt, nofollow, address guard).',
      example: 'fetched',
    }),
    depth: count('Links away from the start page.'),
    httpStatus: z
      .number()
      .nullable()
      .openapi({ type: ['integer', 'null'], description: 'Null when no response arrived.', example: 200 }),
    contentType: z
      .string()
      .nullable()
      .openapi({ description: 'As the site declared it; null without one.', example: 'text/html; charset=utf-8' }),
    title: z
      .string()
      .nullable()
      .openapi({ description: 'The title, `""` when the page has none; null for what is not HTML.', example: 'About us' }),
    reason: z.string().nullable().openapi({
      description: 'Why it failed, was blocked or redirects to no page; else null.',
      example: null,
    }),
    redirectUrl: z.string().nullable().openapi({ description: 'Where the redirect led; else null.', example: null }),
    fetchedAt: z
      .string()
      .nullable()
      .openapi({ format: 'date-time', description: 'When the request was sent; null before.', example: '2026-11-21T03:05:27.120Z' }),
    durationMs: z
      .number()
      .nullable()
      .openapi({ description: 'From the request to the end of the body, in milliseconds; null before.', example: 38 }),
    bytes: count('Length of the body after decompression, as far as it was read.'),
    truncated: z.boolean().openapi({ description: 'The body was cut off, by the connection or by the size limit.', example: false }),
  })
  .openapi('Page');

export const Finding = z
  .strictObject({
    id: z.string().openapi({
      description: 'Of this finding; the same in later crawls of the site while the finding stays.',
      example: 'b1946ac92492d234',
    }),
    rule: z.string().openapi({ description: 'The rule that is broken.', example: 'title.missing' }),
    severity: z.enum(SEVERITIES).openapi({ description: 'How much it matters.', example: 'high' }),
    title: z
      .string()
      .nullable()
      .openapi({ description: 'The rule in a few words; null for a rule that this version does not have.', example: 'Page has no title' }),
    why: z
      .string()
      .nullable()
      .openapi({ description: 'Why it matters; null as with `title`.', example: 'Search results and browser tabs show the title.' }),
    fix: z
      .string()
      .nullable()
      .openapi({ description: 'What to do; null as with `title`.', example: 'Add a <title> that names what is on this page.' }),
    url: z
      .string()
      .nullable()
      .openapi({ description: 'The page that breaks the rule; null when the site as a whole does.', example: 'https://example.com/about' }),
    evidence: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
      .openapi({ description: 'The facts that show it; their names depend on the rule.', example: { status: 404 } }),
  })
  .openapi('Finding');

export const Site = z
  .strictObject({
    id: id('The site; `siteId` of the crawl list filters by it.'),
    host,
    authority: z.string().openapi({ description: 'The host, with the port where it is not the default one.', example: 'example.com:8443' }),
    firstCrawledAt: time('When its first crawl was started.'),
    lastCrawledAt: time('When its latest crawl was started.'),
  })
  .openapi('Site');

export const Usage = z
  .strictObject({
    month: z.string().openapi({ description: 'The current month, in UTC.', example: '2026-11' }),
    limit: count('Pages that may be fetched in a month.'),
    used: count('Pages fetched, exact at any instant.'),
    reserved: count('Pages that running crawls hold and have not used yet.'),
    remaining: count('`limit` less `used` and `reserved`, not below 0.'),
    resetsAt: time('When the next month begins.'),
  })
  .openapi('Usage');

export const Pong = z
  .strictObject({ ok: z.literal(true).openapi({ description: 'The key is valid.' }), organizationId: id('Whose key it is.') })
  .openapi('Pong');

export const listOf = <Item extends z.ZodType>(name: string, item: Item) =>
  z.strictObject({ data: z.array(item).openapi({ description: 'The items, in order.' }), nextCursor: cursorOut }).openapi(name);

/** The parameters that every list has, and those of `more`. */
export const listQuery = <More extends z.ZodRawShape>(more: More) =>
  z.strictObject({
    limit: z
      .string()
      .refine((text) => /^[0-9]+$/.test(text) && Number(text) >= 1, 'must be a whole number, at least 1')
      .transform(Number)
      .optional()
      .openapi({
        type: 'integer',
        minimum: 1,
        default: DEFAULT_LIMIT,
        description: `The most items that are given; above ${MOST_LIMIT} it becomes ${MOST_LIMIT}.`,
        example: DEFAULT_LIMIT,
      }),
    cursor: z.string().optional().openapi({ description: 'The `nextCursor` of the part before, with the same filter.' }),
    ...more,
  });

export const crawlListQuery = listQuery({
  siteId: z
    .string()
    .refine(isUuid, 'must be a UUID')
    .transform((text) => text.toLowerCase() as SiteId)
    .optional()
    .openapi({ format: 'uuid', description: 'Only crawls of this site.' }),
  state: z.enum(CRAWL_STATES).optional().openapi({ description: 'Only crawls in this state.' }),
});

export const pageListQuery = listQuery({
  status: z.enum(PAGE_STATUSES).optional().openapi({ description: 'Only pages with this status.' }),
});

export const findingListQuery = listQuery({
  severity: z.enum(SEVERITIES).optional().openapi({ description: 'Only findings of this severity.' }),
  rule: z.string().min(1).max(100).optional().openapi({ description: 'Only findings of this rule.', example: 'title.missing' }),
});
