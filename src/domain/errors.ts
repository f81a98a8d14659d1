import type { EpochMs } from './ids.ts';

/** What a caller can be told. Clients match on the code, never on the text. `status` is read by `http/` only. */
export const ERRORS = {
  invalid_request: { status: 400, title: 'The request is not valid', retryable: false },
  invalid_cursor: { status: 400, title: 'The cursor is not valid here', retryable: false },
  unauthorized: { status: 401, title: 'A valid API key is required', retryable: false },
  insufficient_scope: { status: 403, title: 'The API key lacks a scope', retryable: false },
  quota_exceeded: { status: 403, title: "The organization's monthly URL quota is used up", retryable: false },
  not_found: { status: 404, title: 'Not found', retryable: false },
  method_not_allowed: { status: 405, title: 'The method is not allowed here', retryable: false },
  crawl_not_final: { status: 409, title: 'The crawl has not ended yet', retryable: false },
  crawl_final: { status: 409, title: 'The crawl has already ended', retryable: false },
  payload_too_large: { status: 413, title: 'The request body is too large', retryable: false },
  unsupported_media_type: { status: 415, title: 'The content type is not supported', retryable: false },
  idempotency_mismatch: { status: 422, title: 'The idempotency key was used with another request', retryable: false },
  rate_limited: { status: 429, title: 'Too many requests', retryable: true },
  internal_error: { status: 500, title: 'Something went wrong here', retryable: false },
  unavailable: { status: 503, title: 'The service is not available at the moment', retryable: true },
} as const satisfies Record<string, { status: number; title: string; retryable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

/** One wrong place of a request: a JSON pointer (RFC 6901) into its body, or the name of a query parameter or header. */
export type Violation =
  | { readonly detail: string; readonly pointer: string }
  | { readonly detail: string; readonly parameter: string }
  | { readonly detail: string; readonly header: string };

export type RefusalFacts = {
  readonly errors?: readonly Violation[];
  /** When trying again makes sense, milliseconds from now; on each `rate_limited` and `unavailable`. */
  readonly retryAfterMs?: number;
  /** When the quota is whole again; on `quota_exceeded`. */
  readonly resetsAt?: EpochMs;
  /** The methods that are allowed; on `method_not_allowed`. */
  readonly allow?: readonly string[];
};

/** A refusal that the caller may see whole. Anything else that is thrown is told as `internal_error`, and logged. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: ErrorCode;
  readonly facts: RefusalFacts;

  constructor(code: ErrorCode, detail: string, facts: RefusalFacts = {}, options?: ErrorOptions) {
    super(detail, options);
    this.code = code;
    this.facts = facts;
  }
}

/** The wait that an `unavailable` answer proposes when nothing better is known, in milliseconds. */
export const UNAVAILABLE_RETRY_MS = 5_000;

/** The store, or a part that a request needs, does not answer now. */
export const unavailable = (detail: string, cause?: unknown): Refusal =>
  new Refusal('unavailable', detail, { retryAfterMs: UNAVAILABLE_RETRY_MS }, { cause });

/** The caller was admitted just before its organization was removed, and its key with it. */
export const organizationGone = (): Refusal => new Refusal('unauthorized', 'The organization of the API key was removed.');

export const notFound = (): Refusal => new Refusal('not_found', 'There is nothing here that your API key can see.');
