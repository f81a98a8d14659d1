import { normalizedExecutor } from '@graphql-tools/executor';
import { type ExecutionResult, type GraphQLSchema, OperationTypeNode } from 'graphql';
import type { Exchange } from '../exchange.ts';
import type { HttpObserver } from '../observe.ts';
import type { GraphqlContext } from './context.ts';
import type { Prepare } from './prepare.ts';
import { RESPONSE_JSON } from './refuse.ts';

/**
 * Answers the request that nearly all are: a POST of JSON with one valid query within the limits, whose answer has no errors. Answers
 * false, with nothing sent, when it is another one: the caller gives that to Yoga, which may run the query again. It saves Yoga's
 * pipeline, more than half of the time of a small query.
 */
export type AnswerPlainQuery = (exchange: Exchange, body: string, createContext: () => GraphqlContext) => Promise<boolean>;

type Deps = { readonly schema: GraphQLSchema; readonly prepare: Prepare; readonly observer: Pick<HttpObserver, 'executed'> };

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

/** The answer's type by Accept as the usual clients send it; others need the negotiation that Yoga has. */
const TYPES: Readonly<Record<string, string>> = {
  '*/*': 'application/json',
  'application/json': 'application/json',
  'application/json, */*': 'application/json',
  'application/graphql-response+json': RESPONSE_JSON,
  'application/graphql-response+json, application/json': RESPONSE_JSON,
  'application/graphql-response+json,application/json;q=0.9': RESPONSE_JSON, // Apollo Client
};

type Parameters = { readonly query: string; readonly variables: Record<string, unknown>; readonly operationName: string | undefined };

export function createAnswerPlainQuery({ schema, prepare, observer }: Deps): AnswerPlainQuery {
  return async (exchange, body, createContext) => {
    const { request, response, headers } = exchange;
    const { accept = '*/*', 'content-type': contentType = '' } = request.headers;
    const type = Object.hasOwn(TYPES, accept) ? TYPES[accept] : undefined;
    if (request.method !== 'POST' || type === undefined || request.url !== '/graphql' || !JSON_TYPE.test(contentType)) return false;
    const parameters = readParameters(body);
    if (parameters === null) return false;
    const prepared = prepare(parameters.query);
    if ('errors' in prepared) return false;
    const operation = prepared.operationOf(parameters.operationName);
    if (operation?.operation !== OperationTypeNode.QUERY || prepared.refusalsOf(operation, parameters.variables).length > 0) return false;

    const result = (await normalizedExecutor({
      schema,
      document: prepared.document,
      operationName: parameters.operationName,
      variableValues: parameters.variables,
      contextValue: createContext(),
    })) as ExecutionResult;
    if (result.errors !== undefined || result.data == null) return false;
    const text = JSON.stringify(result);
    exchange.isRead = true;
    observer.executed('query', 'ok');
    response.writeHead(200, { ...headers, 'Content-Type': `${type}; charset=utf-8`, 'Content-Length': Buffer.byteLength(text) });
    response.end(text);
    return true;
  };
}

/** Null for what is not exactly a query with variables and a name. */
function readParameters(body: string): Parameters | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof parsed !== 'object' || parsed === null) return null;
  for (const name in parsed) if (name !== 'query' && name !== 'variables' && name !== 'operationName') return null;
  const { query, variables, operationName } = parsed as Partial<Record<keyof Parameters, unknown>>;
  if (typeof query !== 'string') return null;
  if (variables != null && (typeof variables !== 'object' || Array.isArray(variables))) return null;
  if (operationName != null && typeof operationName !== 'string') return null;
  return { query, variables: (variables ?? {}) as Record<string, unknown>, operationName: operationName ?? undefined };
}
