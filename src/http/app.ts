import { type Context, Hono } from 'hono';
import { notFound, Refusal } from '#domain/errors.ts';
import type { Service } from '#service/service.ts';
import { answerDocsFile, answerDocsPage, DOCS_PATH } from './docs.ts';
import type { ExchangeEnv } from './exchange.ts';
import { answerAlive, createAnswerReady, HEALTH_PATH, type IsReady, READY_PATH } from './health.ts';
import { isErrorCode, problemPage } from './problem-texts.ts';
import type { AnswerProblem } from './problems.ts';
import { allowedMethods } from './rest/allowed-methods.ts';
import { mountRest } from './rest/mount.ts';
import { openApiDocument } from './rest/openapi.ts';

type Deps = {
  readonly service: Service;
  readonly answerProblem: AnswerProblem;
  readonly isReady: IsReady;
  readonly publicUrl: () => string;
};

type OpenRoute = { readonly path: string; readonly answer: (c: Context<ExchangeEnv>) => Response | Promise<Response> };

const html = (text: string): Response =>
  new Response(text, {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'" },
  });

/** Everything that is asked by plain HTTP: `/v1`, and the few addresses that need no key. */
export function createApp({ service, answerProblem, isReady, publicUrl }: Deps): Hono<ExchangeEnv> {
  const answerReady = createAnswerReady(isReady);
  const open: readonly OpenRoute[] = [
    { path: HEALTH_PATH, answer: (c) => answerAlive(c.env) },
    { path: READY_PATH, answer: (c) => answerReady(c.env) },
    { path: '/openapi.json', answer: () => Response.json(openApiDocument({ publicUrl: publicUrl() })) },
    { path: DOCS_PATH, answer: answerDocsPage },
    { path: `${DOCS_PATH}/{file}`, answer: (c) => answerDocsFile(c.req.param('file') ?? '') },
    { path: '/problems/{code}', answer: (c) => answerProblemPage(c.req.param('code') ?? '') },
  ];

  const app = new Hono<ExchangeEnv>();
  for (const { path, answer } of open) {
    app.get(path.replace(/\{(\w+)\}/, ':$1'), (c) => {
      c.env.route = path;
      return answer(c);
    });
  }
  const refuseCall = mountRest(app, { service, answerProblem });
  app.notFound((c) => {
    if (c.req.path === '/v1' || c.req.path.startsWith('/v1/')) return refuseCall(c);
    const allow = allowedMethods(
      open.map(({ path }) => ({ method: 'get', path })),
      c.req.path,
    );
    if (allow.length === 0) return answerProblem(notFound(), c.env);
    return answerProblem(new Refusal('method_not_allowed', `${c.env.request.method} is not known here.`, { allow }), c.env);
  });
  app.onError((error, c) => answerProblem(error, c.env));
  return app;
}

function answerProblemPage(code: string): Response {
  if (!isErrorCode(code)) throw notFound();
  return html(problemPage(code));
}
