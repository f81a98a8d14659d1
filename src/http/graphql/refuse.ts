import { ERRORS, type Refusal } from '#domain/errors.ts';
import type { Exchange } from '../exchange.ts';
import { headersOf } from '../problems.ts';
import { refusalExtensions } from './present-error.ts';

export const RESPONSE_JSON = 'application/graphql-response+json';

/** Answers a request that does not get as far as GraphQL: with the status of the refusal, and the body in GraphQL's form. */
export function refuse({ code, message, facts }: Refusal, { request, response, headers }: Exchange): void {
  const body = JSON.stringify({ errors: [{ message, extensions: refusalExtensions({ code, message, facts } as Refusal) }] });
  const type = request.headers.accept?.includes(RESPONSE_JSON) === true ? RESPONSE_JSON : 'application/json';
  response.writeHead(ERRORS[code].status, {
    ...headers,
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(body),
    ...headersOf(code, facts),
  });
  response.end(body);
}
