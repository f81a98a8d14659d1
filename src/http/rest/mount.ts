import type { Context, Hono } from 'hono';
import type { Caller } from '#domain/account.ts';
import { notFound } from '#domain/errors.ts';
import { type CrawlId, isUuid } from '#domain/ids.ts';
import type { Timers } from '#domain/timers.ts';
import type { Service } from '#service/service.ts';
import { countRequest, identify } from '../admit.ts';
import type { Exchange, ExchangeEnv } from '../exchange.ts';
import type { HttpObserver } from '../observe.ts';
import type { AnswerProblem } from '../problems.ts';
import { type Reply, respond } from '../reply.ts';
import { refusalOf } from './allowed-methods.ts';
import type { Operation, OperationRequest, Outcome } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { startsHeaders } from './rate-headers.ts';
import { readJson } from './read-body.ts';
import { createStreamUpdates } from './stream-updates.ts';
import { readBySchema, readQuery } from './violations.ts';

type Deps = {
  readonly service: Service;
  readonly answerProblem: AnswerProblem;
  readonly timers: Timers;
  readonly observer: HttpObserver;
};

/** Answers what is below `/v1` and no operation. */
export type RefuseCall = (c: Context<ExchangeEnv>) => Promise<Response>;

/** Puts the operations of `/v1` into the app; the rest below it is for the refusal that this returns. */
export function mountRest(app: Hono<ExchangeEnv>, { service, answerProblem, timers, observer }: Deps): RefuseCall {
  const streamUpdates = createStreamUpdates(timers, observer);
  for (const operation of OPERATIONS) {
    const answer = (c: Context<ExchangeEnv>): Promise<Response> => {
      c.env.route = operation.path;
      return answerCall(c.env, operation.limit, async (caller) => {
        const body = operation.body === null ? undefined : readBySchema(operation.body, await readJson(c.env.request), 'body');
        return operation.run(service, readRequest(c, operation, body), caller);
      });
    };
    app.on(operation.method.toUpperCase(), operation.path.replace('{id}', ':id'), answer);
  }
  return (c) =>
    answerCall(c.env, 'requests', async () => {
      throw refusalOf(OPERATIONS, c.req.method, c.req.path);
    });

  /** The frame of each call: who calls, whether they may call now, the answer, and the headers that tell of the limit. */
  async function answerCall(exchange: Exchange, limit: Operation['limit'], run: (caller: Caller) => Promise<Outcome>): Promise<Response> {
    let caller: Caller | null = null;
    try {
      caller = await identify(exchange, service);
      if (limit === 'requests') await countRequest(exchange, caller, service);
      const outcome = await run(caller);
      return outcome.updates === undefined ? respond(replyOf(outcome), exchange) : streamUpdates(outcome.updates, caller, exchange);
    } catch (error) {
      if (limit === 'starts' && caller !== null) await tellStarts(exchange, caller);
      return answerProblem(error, exchange);
    }
  }

  async function tellStarts(exchange: Exchange, caller: Caller): Promise<void> {
    try {
      Object.assign(exchange.headers, startsHeaders(await service.getStartAllowance(caller)));
    } catch {
      // the store does not answer: the refusal under way says so, and nothing is known of the allowance
    }
  }
}

function readRequest<Body>(c: Context<ExchangeEnv>, { query }: Operation, body: Body): OperationRequest<Record<string, unknown>, Body> {
  const { request } = c.env;
  const target = request.url ?? '';
  const mark = target.indexOf('?');
  return {
    query: readQuery(query, mark === -1 ? '' : target.slice(mark + 1)),
    body,
    crawlId() {
      const id = c.req.param('id') ?? '';
      if (!isUuid(id)) throw notFound();
      return id.toLowerCase() as CrawlId;
    },
    header: (name) => (request.headers[name] === undefined ? [] : (request.headersDistinct[name] ?? [])),
  };
}

/** An answer may change with the next request: a cache asks again each time. */
const CACHE = { 'Cache-Control': 'private, no-cache' };
const JSON_HEADERS = { 'Content-Type': 'application/json', ...CACHE };

const replyOf = ({ status, body, headers }: Outcome): Reply =>
  body === undefined
    ? { status, headers: { ...CACHE, ...headers }, body: null }
    : { status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) };
