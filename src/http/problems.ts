import { ERRORS, type ErrorCode, Refusal, type Violation } from '#domain/errors.ts';
import type { Log } from '#telemetry.ts';
import type { Exchange } from './exchange.ts';
import { respond } from './reply.ts';

/** The body of an error answer: RFC 9457, and the members `code`, `errors` and `resetsAt`. */
export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: ErrorCode;
  readonly errors?: readonly Violation[];
  readonly resetsAt?: string;
};

/** Answers `error`: a refusal as what it is, anything else as `internal_error`, which it logs. */
export type AnswerProblem = (error: unknown, exchange: Exchange) => Response;

type Deps = {
  readonly log: Pick<Log, 'error'>;
  /** The base address of problem types; asked when a problem is told, as it may depend on the port. */
  readonly publicUrl: () => string;
};

export const PROBLEM_TYPE = 'application/problem+json';

export const problemPath = (code: ErrorCode): string => `/problems/${code}`;

/** RFC 9110 §10.2.3: whole seconds, here rounded up and never 0, so that a client that waits so long is not refused again. */
export const wholeSeconds = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));

export function createAnswerProblem({ log, publicUrl }: Deps): AnswerProblem {
  const masked = (error: unknown, { id, route }: Exchange): Refusal => {
    log.error({ requestId: id, route, err: error }, 'unexpected error');
    return new Refusal('internal_error', 'The request failed by a defect of the service. The log has more under this instance.');
  };

  return (error, exchange) => {
    const { code, message, facts } = error instanceof Refusal ? error : masked(error, exchange);
    const { status, title } = ERRORS[code];
    const problem: Problem = {
      type: publicUrl() + problemPath(code),
      title,
      status,
      detail: message,
      instance: `urn:uuid:${exchange.id}`,
      code,
      ...(facts.errors !== undefined && { errors: facts.errors }),
      ...(facts.resetsAt !== undefined && { resetsAt: new Date(facts.resetsAt).toISOString() }),
    };
    const headers = { 'Content-Type': PROBLEM_TYPE, ...headersOf(code, facts) };
    return respond({ status, headers, body: JSON.stringify(problem) }, exchange);
  };
}

/** What goes with a code beside the body. */
export function headersOf(code: ErrorCode, facts: Refusal['facts']): Record<string, string> {
  if (code === 'rate_limited' || code === 'unavailable') return { 'Retry-After': String(wholeSeconds(facts.retryAfterMs ?? 0)) };
  if (code === 'unauthorized') return { 'WWW-Authenticate': 'Bearer' };
  if (code === 'method_not_allowed') return { Allow: (facts.allow ?? []).join(', ') };
  if (code === 'payload_too_large') return { Connection: 'close' }; // the rest of the body is not read
  return {};
}
