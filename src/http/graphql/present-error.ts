import { GraphQLError, Kind } from 'graphql';
import { ERRORS, type ErrorCode, Refusal } from '#domain/errors.ts';
import type { Log } from '#telemetry.ts';
import { wholeSeconds } from '../problems.ts';

/**
 * What a client is told of `error`: a refusal as what it is; what a client did wrong (syntax, validation, variables) as
 * `invalid_request`; anything else as `internal_error`, which it logs with the request id.
 */
export type PresentError = (error: unknown, requestId: string) => GraphQLError;

export function createPresentError({ log }: { readonly log: Pick<Log, 'error'> }): PresentError {
  return (error, requestId) => {
    const located = error instanceof GraphQLError ? error : undefined;
    const cause = causeOf(error);
    if (cause instanceof Refusal) return tell(cause.message, refusalExtensions(cause), located);
    if (cause instanceof GraphQLError && located !== undefined && !isFromResolver(located))
      return tell(located.message, { code: codeOf(located) }, located);
    log.error({ requestId, err: cause }, 'unexpected error');
    const message = 'The request failed by a defect of the service. The log has more under this request id.';
    return tell(message, { code: 'internal_error', requestId }, located);
  };
}

export type RefusalExtensions = { readonly code: ErrorCode } & Record<string, unknown>;

export const refusalExtensions = ({ code, facts }: Refusal): RefusalExtensions => ({
  code,
  ...(ERRORS[code].retryable && { retryAfterSeconds: wholeSeconds(facts.retryAfterMs ?? 0) }),
  ...(facts.errors !== undefined && { errors: facts.errors }),
  ...(facts.resetsAt !== undefined && { resetsAt: new Date(facts.resetsAt).toISOString() }),
});

/** What was thrown: GraphQL wraps it, to say where. */
function causeOf(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError != null) cause = cause.originalError;
  return cause;
}

/**
 * GraphQL's own complaint about what a resolver gave, such as a null that must not be one. It is located at a field; the one about
 * a client's argument is located at its value.
 */
const isFromResolver = ({ path, nodes }: GraphQLError): boolean => path !== undefined && (nodes?.[0]?.kind ?? Kind.FIELD) === Kind.FIELD;

const BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  405: 'method_not_allowed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
};

/** Yoga's own refusals have a status. */
function codeOf({ extensions }: GraphQLError): ErrorCode {
  const { status = 400 } = (extensions.http ?? {}) as { status?: number };
  return BY_STATUS[status] ?? 'invalid_request';
}

function tell(message: string, extensions: Record<string, unknown>, located: GraphQLError | undefined): GraphQLError {
  if (located === undefined) return new GraphQLError(message, { extensions });
  const { nodes, source, positions, path } = located;
  return new GraphQLError(message, { nodes, source, positions, path, extensions });
}
