import { Refusal } from '#domain/errors.ts';
import { etagOf, matchesEtag } from './etag.ts';
import { operation } from './operation.ts';
import { startsHeaders } from './rate-headers.ts';
import { renderCrawl, renderCrawlListItem, renderFinding, renderList, renderPage } from './render.ts';
import * as schemas from './schemas.ts';

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/** The one Idempotency-Key of a request, if there is one. Throws `invalid_request`. */
function idempotencyKeyOf(values: readonly string[]): string | undefined {
  const [key] = values;
  if (values.length > 1 || (key !== undefined && !PRINTABLE.test(key))) {
    const detail = values.length > 1 ? 'must be sent once' : 'must be 1 to 255 printable ASCII characters';
    throw new Refusal('invalid_request', 'The Idempotency-Key is not valid.', { errors: [{ detail, header: 'Idempotency-Key' }] });
  }
  return key;
}

const POLLING = 'Poll it every 5 seconds; every 15 to 30 seconds when `maxUrls` is above 5,000.';

export const startCrawl = operation({
  operationId: 'startCrawl',
  method: 'post',
  path: '/v1/crawls',
  tag: 'Crawls',
  summary: 'Start a crawl',
  description: `The crawl is stored before the answer is sent: a 202 survives a crash. ${POLLING} A key starts at most 10 crawls in any 60 seconds; refused, invalid and repeated requests do not count.`,
  scope: 'crawls:write',
  limit: 'starts',
  query: schemas.noQuery,
  headers: schemas.idempotencyHeaders,
  body: schemas.StartCrawlBody,
  answers: {
    202: {
      description: 'The crawl is accepted.',
      schema: schemas.StartedCrawl,
      headers: { Location: { description: 'The address of the crawl.', example: '/v1/crawls/5f0c1f4e-6f0a-4f5e-9f59-0a3c6f2f8a11' } },
    },
  },
  problems: ['quota_exceeded', 'payload_too_large', 'unsupported_media_type', 'idempotency_mismatch'],
  async run(service, { body, header }, caller) {
    const { snapshot, starts } = await service.startCrawl({ ...body, idempotencyKey: idempotencyKeyOf(header('idempotency-key')) }, caller);
    const url = `/v1/crawls/${snapshot.id}`;
    return { status: 202, body: { id: snapshot.id, url }, headers: { Location: url, ...startsHeaders(starts) } };
  },
});

export const listCrawls = operation({
  operationId: 'listCrawls',
  method: 'get',
  path: '/v1/crawls',
  tag: 'Crawls',
  summary: 'List crawls',
  description: 'The newest first.',
  scope: 'crawls:read',
  limit: 'requests',
  query: schemas.crawlListQuery,
  body: null,
  answers: { 200: { description: 'A part of the list.', schema: schemas.listOf('CrawlList', schemas.CrawlListItem) } },
  problems: ['invalid_cursor'],
  run: async (service, { query }, caller) => ({
    status: 200,
    body: renderList(await service.listCrawls(query, caller), renderCrawlListItem),
  }),
});

export const getCrawl = operation({
  operationId: 'getCrawl',
  method: 'get',
  path: '/v1/crawls/{id}',
  tag: 'Crawls',
  summary: 'Get a crawl',
  description: `A failed crawl is a 200, too: its \`error\` says why it failed. ${POLLING} Send the \`ETag\` back as \`If-None-Match\`.`,
  scope: 'crawls:read',
  limit: 'requests',
  params: schemas.crawlParams,
  query: schemas.noQuery,
  headers: schemas.conditionalHeaders,
  body: null,
  answers: {
    200: {
      description: 'The crawl as it is now.',
      schema: schemas.Crawl,
      headers: { ETag: { description: 'A weak tag; another one after each change.', example: 'W/"7"' } },
    },
    304: { description: 'Nothing has changed since the answer that `If-None-Match` names.' },
  },
  problems: ['not_found'],
  async run(service, { crawlId, header }, caller) {
    const snapshot = await service.getCrawl(crawlId(), caller);
    const ETag = etagOf(snapshot.version);
    if (matchesEtag(header('if-none-match').join(','), ETag)) return { status: 304, headers: { ETag } };
    return { status: 200, body: renderCrawl(snapshot), headers: { ETag } };
  },
});

export const cancelCrawl = operation({
  operationId: 'cancelCrawl',
  method: 'post',
  path: '/v1/crawls/{id}/cancel',
  tag: 'Crawls',
  summary: 'Cancel a crawl',
  description: 'The crawl ends `failed` soon after, with what it has fetched kept and analysed. May be repeated until then. Takes no body.',
  scope: 'crawls:write',
  limit: 'requests',
  params: schemas.crawlParams,
  query: schemas.noQuery,
  body: null,
  answers: { 202: { description: 'The crawl as it is now.', schema: schemas.Crawl } },
  problems: ['not_found', 'crawl_final'],
  run: async (service, { crawlId }, caller) => ({ status: 202, body: renderCrawl(await service.cancelCrawl(crawlId(), caller)) }),
});

export const deleteCrawl = operation({
  operationId: 'deleteCrawl',
  method: 'delete',
  path: '/v1/crawls/{id}',
  tag: 'Crawls',
  summary: 'Delete a crawl',
  description: 'Removes a final crawl with its pages and findings. The quota that it used stays used.',
  scope: 'crawls:write',
  limit: 'requests',
  params: schemas.crawlParams,
  query: schemas.noQuery,
  body: null,
  answers: { 204: { description: 'The crawl is gone.' } },
  problems: ['not_found', 'crawl_not_final'],
  async run(service, { crawlId }, caller) {
    await service.deleteCrawl(crawlId(), caller);
    return { status: 204 };
  },
});

export const listPages = operation({
  operationId: 'listPages',
  method: 'get',
  path: '/v1/crawls/{id}/pages',
  tag: 'Results',
  summary: "List a crawl's pages",
  description:
    'In order of discovery, the start page first. While the crawl runs, the list may trail a little; it is exact when the crawl is final.',
  scope: 'crawls:read',
  limit: 'requests',
  params: schemas.crawlParams,
  query: schemas.pageListQuery,
  body: null,
  answers: { 200: { description: 'A part of the list.', schema: schemas.listOf('PageList', schemas.Page) } },
  problems: ['not_found', 'invalid_cursor'],
  run: async (service, { query, crawlId }, caller) => ({
    status: 200,
    body: renderList(await service.listPages(crawlId(), query, caller), renderPage),
  }),
});

export const listFindings = operation({
  operationId: 'listFindings',
  method: 'get',
  path: '/v1/crawls/{id}/findings',
  tag: 'Results',
  summary: "List a crawl's findings",
  description: 'Empty until the crawl is final.',
  scope: 'crawls:read',
  limit: 'requests',
  params: schemas.crawlParams,
  query: schemas.findingListQuery,
  body: null,
  answers: { 200: { description: 'A part of the list.', schema: schemas.listOf('FindingList', schemas.Finding) } },
  problems: ['not_found', 'invalid_cursor'],
  run: async (service, { query, crawlId }, caller) => ({
    status: 200,
    body: renderList(await service.listFindings(crawlId(), query, caller), renderFinding),
  }),
});
