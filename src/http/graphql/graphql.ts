import { isUtf8 } from 'node:buffer';
import { Refusal } from '#domain/errors.ts';
import type { Timers } from '#domain/timers.ts';
import type { Service } from '#service/service.ts';
import type { Log } from '#telemetry.ts';
import { countRequest, identify } from '../admit.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpObserver } from '../observe.ts';
import { startsHeaders } from '../rest/rate-headers.ts';
import { readBounded } from '../rest/read-body.ts';
import { createContext, type GraphqlContext } from './context.ts';
import { answerGraphiqlPage, wantsPage } from './graphiql.ts';
import type { GraphqlLimits } from './limits.ts';
import { GRAPHQL_PATH } from './path.ts';
import { createAnswerPlainQuery } from './plain-query.ts';
import { createPrepare } from './prepare.ts';
import { createPresentError } from './present-error.ts';
import { refuse } from './refuse.ts';
import { createSchema } from './schema/schema.ts';
import { createOperations } from './ws/operations.ts';
import { createSockets, type Sockets } from './ws/sockets.ts';
import { createAnswerByYoga } from './yoga.ts';

/** GraphQL in all its ways. */
export type Graphql = {
  /** Answers a request of `/graphql`; never rejects. */
  readonly answer: (exchange: Exchange) => Promise<void>;
  readonly sockets: Sockets;
};

export type GraphqlDeps = {
  readonly service: Service;
  readonly log: Log;
  readonly timers: Timers;
  readonly limits: GraphqlLimits;
  readonly observer: HttpObserver;
};

export function createGraphql({ service, log, timers, limits, observer }: GraphqlDeps): Graphql {
  const schema = createSchema();
  const prepare = createPrepare({ schema, limits });
  const presentError = createPresentError({ log });
  const answerPlainQuery = createAnswerPlainQuery({ schema, prepare, observer });
  const operations = createOperations({ service, schema, prepare, presentError, limits, observer });
  const answerByYoga = createAnswerByYoga({ schema, prepare, presentError, timers, limits, observer });

  async function answerAdmitted(exchange: Exchange): Promise<void> {
    checkHost(exchange);
    const caller = await identify(exchange, service);
    await countRequest(exchange, caller, service);
    const newContext = (): GraphqlContext =>
      createContext({ caller, service, tellStarts: (allowance) => addStarts(exchange, startsHeaders(allowance)) });
    const body = exchange.request.method === 'POST' ? await readText(exchange, limits.maxBodyBytes) : null;
    if (body !== null && (await answerPlainQuery(exchange, body, newContext))) return;
    await answerByYoga(exchange, body, newContext);
  }

  return {
    sockets: createSockets({ service, operations, limits, timers, log, observer }),
    async answer(exchange) {
      exchange.route = GRAPHQL_PATH;
      if (wantsPage(exchange.request)) return answerGraphiqlPage(exchange);
      exchange.headers['Cache-Control'] = 'private, no-cache';
      try {
        await answerAdmitted(exchange);
      } catch (error) {
        if (exchange.response.headersSent) return void exchange.response.destroy();
        refuse(error instanceof Refusal ? error : masked(error, exchange), exchange);
      }
    },
  };

  function masked(error: unknown, { id }: Exchange): Refusal {
    const { message } = presentError(error, id);
    return new Refusal('internal_error', message);
  }
}

/** The starts beside the requests: a client of GraphQL spends both in one answer. */
function addStarts({ headers }: Exchange, starts: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(starts)) headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
}

function checkHost({ request }: Exchange): void {
  const { host } = request.headers;
  if (host !== undefined && URL.canParse(`http://${host}/`)) return;
  const errors = [{ detail: 'must be a host name or address', header: 'Host' }];
  throw new Refusal('invalid_request', 'The request has no valid address.', { errors });
}

const TYPES: readonly string[] = ['application/json', 'application/graphql', 'application/x-www-form-urlencoded'];

async function readText({ request }: Exchange, most: number): Promise<string> {
  const [type = ''] = (request.headers['content-type'] ?? '').split(';');
  if (!TYPES.includes(type.trim().toLowerCase())) throw new Refusal('unsupported_media_type', 'Send the body as application/json.');
  const coding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (coding !== 'identity') throw new Refusal('unsupported_media_type', 'Send the body without Content-Encoding.');
  const bytes = await readBounded(request, most);
  if (isUtf8(bytes)) return bytes.toString();
  throw new Refusal('invalid_request', 'The body is not UTF-8.', { errors: [{ detail: 'must be UTF-8', pointer: '' }] });
}
