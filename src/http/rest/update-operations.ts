import { Refusal } from '#domain/errors.ts';
import { operation } from './operation.ts';
import * as schemas from './schemas.ts';

/** The version after which a client goes on; 0 from the start. Throws `invalid_request`. */
function lastEventIdOf(values: readonly string[]): number {
  const [id = '0'] = values;
  if (values.length > 1 || !/^\d{1,15}$/.test(id)) {
    const detail = values.length > 1 ? 'must be sent once' : 'must be the id of an event';
    throw new Refusal('invalid_request', 'The Last-Event-ID is not valid.', { errors: [{ detail, header: 'Last-Event-ID' }] });
  }
  return Number(id);
}

export const watchCrawl = operation({
  operationId: 'watchCrawl',
  method: 'get',
  path: '/v1/crawls/{id}/updates',
  tag: 'Crawls',
  summary: "Watch a crawl's updates",
  description:
    'Server-sent events, each named `update` with the crawl as its data: first as it is now, then after changes, at most 5 a second, with rising versions of which some may be left out. The final one always comes, and ends the stream. A stream that ends before it is to be asked for again, with `Last-Event-ID`; an `EventSource` does so by itself.',
  scope: 'crawls:read',
  limit: 'requests',
  params: schemas.crawlParams,
  query: schemas.noQuery,
  headers: schemas.resumingHeaders,
  body: null,
  answers: {
    200: { description: 'The updates, for as long as the crawl runs.', schema: schemas.CrawlUpdate, contentType: 'text/event-stream' },
    204: { description: '`Last-Event-ID` names the final update: there is nothing more to come.' },
  },
  problems: ['not_found'],
  async run(service, { crawlId, header }, caller) {
    const updates = await service.watchCrawl(crawlId(), caller, { afterVersion: lastEventIdOf(header('last-event-id')) });
    let over = false;
    updates.onEnd(() => {
      over = true;
    });
    return over ? { status: 204 } : { status: 200, updates };
  },
});
