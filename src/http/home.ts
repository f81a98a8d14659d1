import { DOCS_PATH, OPENAPI_PATH } from './docs.ts';
import type { Exchange } from './exchange.ts';
import { GRAPHQL_PATH } from './graphql/path.ts';
import type { Reply } from './reply.ts';

export const HOME_PATH = '/';

const ENTRIES = JSON.stringify({
  service: 'crawlgate',
  docs: DOCS_PATH,
  openapi: OPENAPI_PATH,
  graphql: GRAPHQL_PATH,
  ping: '/v1/ping',
});

/** Leads a browser to the docs, relative to itself so that it works below any base address; tells anybody else where things are. */
export function answerHome({ request, headers }: Pick<Exchange, 'request' | 'headers'>): Reply {
  const { Vary: varies } = headers; // CORS has its own
  const always = { 'Cache-Control': 'no-cache', Vary: varies === undefined ? 'Accept' : `${varies}, Accept` };
  return request.headers.accept?.includes('text/html') === true
    ? { status: 302, headers: { ...always, Location: DOCS_PATH.slice(1) }, body: null }
    : { status: 200, headers: { ...always, 'Content-Type': 'application/json' }, body: ENTRIES };
}
