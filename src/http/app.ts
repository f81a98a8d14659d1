import { type Context, Hono } from 'hono';
import { notFound } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import type { Service } from '#service/service.ts';
import type { Api } from './api.ts';
import { answerDocsFile, answerDocsFolder, answerDocsPage, DOCS_PATH, OPENAPI_PATH } from './docs.ts';
import type { Exchange, ExchangeEnv } from './exchange.ts';
import { answerGraphiqlFile } from './graphql/graphiql.ts';
import { GRAPHQL_PATH } from './graphql/path.ts';
import { answerAlive, createAnswerReady, HEALTH_PATH, type IsReady, READY_PATH } from './health.ts';
import { answerHome, HOME_PATH } from './home.ts';
import { createAnswerMetrics, METRICS_PATH, type Scrape } from './metrics.ts';
import type { HttpObserver } from './observe.ts';
import { isErrorCode, problemPage } from './problem-texts.ts';
import type { AnswerProblem } from './problems.ts';
import { createAnswerFile, type Reply, respond } from './reply.ts';
import { refusalOf } from './rest/allowed-methods.ts';

type Deps = {
  readonly service: Service;
  /** Null: nothing is answered but how the process is. */
  readonly api: Api | null;
  readonly answerProblem: AnswerProblem;
  readonly isReady: IsReady;
  readonly publicUrl: () => string;
  readonly timers: Timers;
  /** Null: there is no `/metrics`. */
  readonly scrape: Scrape | null;
  readonly observer: HttpObserver;
};

/** An address that needs no key; `name` is the last part of its path. */
type OpenRoute = { readonly path: string; readonly answer: (name: string, exchange: Exchange) => Reply | Promise<Reply> };

const WORKER_SAYS = `This process runs crawls. It answers ${HEALTH_PATH}, ${READY_PATH} and ${METRICS_PATH} alone.`;

/** Everything that is asked by plain HTTP: `/v1`, and the few addresses that need no key. */
export function createApp(deps: Deps): Hono<ExchangeEnv> {
  const { service, api, answerProblem, isReady, publicUrl, timers, scrape, observer } = deps;
  const health: readonly OpenRoute[] = [
    { path: HEALTH_PATH, answer: answerAlive },
    { path: READY_PATH, answer: createAnswerReady(isReady) },
  ];
  const frontOf = ({ openApiDocument }: Api): readonly OpenRoute[] => [
    { path: HOME_PATH, answer: (_, exchange) => answerHome(exchange) },
    { path: OPENAPI_PATH, answer: createAnswerOpenApi(() => openApiDocument({ publicUrl: publicUrl() })) },
    { path: DOCS_PATH, answer: answerDocsPage },
    { path: `${DOCS_PATH}/`, answer: answerDocsFolder },
    { path: `${DOCS_PATH}/{name}`, answer: createAnswerFile(answerDocsFile) },
    { path: `${GRAPHQL_PATH}/{name}`, answer: createAnswerFile(answerGraphiqlFile) },
    { path: '/problems/{name}', answer: answerProblemPage },
  ];
  const open = api === null ? health : [...health, ...frontOf(api)];
  const routes = [...open, ...(scrape === null ? [] : [{ path: METRICS_PATH }])].map(({ path }) => ({ method: 'get', path }));

  const app = new Hono<ExchangeEnv>();
  for (const { path, answer } of open) {
    app.get(path.replace('{name}', ':name'), async (c: Context<ExchangeEnv>) => {
      c.env.route = path;
      return respond(await answer(c.req.param('name') ?? '', c.env), c.env);
    });
  }
  if (scrape !== null) {
    const answerMetrics = createAnswerMetrics({ service, scrape });
    app.get(METRICS_PATH, async (c) => {
      c.env.route = METRICS_PATH;
      return respond(await answerMetrics(c.env), c.env);
    });
  }
  const refuseCall = api === null ? null : api.mountRest(app, { service, answerProblem, timers, observer });
  app.notFound((c) => {
    if (refuseCall !== null && (c.req.path === '/v1' || c.req.path.startsWith('/v1/'))) return refuseCall(c);
    return answerProblem(refusalOf(routes, c.req.method, c.req.path, api === null ? WORKER_SAYS : undefined), c.env);
  });
  app.onError((error, c) => answerProblem(error, c.env));
  return app;
}

/** Made at the first request: the base address may depend on the port. */
function createAnswerOpenApi(document: () => unknown): () => Reply {
  let body: string | null = null;
  return () => {
    body ??= JSON.stringify(document());
    return { status: 200, headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' }, body };
  };
}

function answerProblemPage(code: string): Reply {
  if (!isErrorCode(code)) throw notFound();
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" };
  return { status: 200, headers, body: problemPage(code) };
}
