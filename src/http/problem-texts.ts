import { ERRORS, type ErrorCode } from '#domain/errors.ts';

type Text = {
  /** When it is told. */
  readonly meaning: string;
  /** What a client does about it. */
  readonly remedy: string;
};

const TEXTS: Readonly<Record<ErrorCode, Text>> = {
  invalid_request: {
    meaning: 'A field of the body, a query parameter or a header is missing, unknown or has a value that is not accepted.',
    remedy:
      'Read `errors`: each entry names one place, as a JSON pointer into the body, a query parameter or a header. Correct them all and send the request again.',
  },
  invalid_cursor: {
    meaning: 'The cursor was not given out by this list, for this organization and this filter.',
    remedy: 'Pass `nextCursor` unchanged, with the same filter; or begin the list again without a cursor.',
  },
  unauthorized: {
    meaning: 'There is no API key in the request, or one that is not known, or one that was revoked.',
    remedy: 'Send `Authorization: Bearer <key>`.',
  },
  insufficient_scope: {
    meaning: 'The API key is valid and lacks the scope that the call needs.',
    remedy: 'Use a key that has the scope named in `detail`.',
  },
  quota_exceeded: {
    meaning: "The organization's URLs of this month are used up, so no crawl is started.",
    remedy: 'Wait until `resetsAt`, or ask the operator for a higher quota.',
  },
  not_found: {
    meaning: 'There is nothing at this address, or it belongs to another organization. Both are told alike.',
    remedy: 'Check the address and the id; a deleted crawl is gone.',
  },
  method_not_allowed: {
    meaning: 'The address exists and does not know this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  crawl_not_final: {
    meaning: 'A crawl that is still running cannot be deleted.',
    remedy: 'Cancel it, wait until its state is `done` or `failed`, then delete it.',
  },
  crawl_final: {
    meaning: 'The crawl has ended, so there is nothing to cancel.',
    remedy: 'None is needed.',
  },
  payload_too_large: {
    meaning: 'The request body is larger than 64 KiB.',
    remedy: 'Send a smaller body.',
  },
  unsupported_media_type: {
    meaning: 'The request body is not declared as JSON in UTF-8, or it is compressed.',
    remedy: 'Send `Content-Type: application/json`, and no `Content-Encoding`.',
  },
  idempotency_mismatch: {
    meaning: 'The same `Idempotency-Key` came with another request within the last 24 hours.',
    remedy: 'Use a new key for a new request, and the same request for the same key.',
  },
  rate_limited: {
    meaning: 'The API key has made its requests of this minute, or its ten starts of the last 60 seconds.',
    remedy: 'Wait as many seconds as `Retry-After` says. `RateLimit` tells on each answer what is left.',
  },
  internal_error: {
    meaning: 'A defect of the service. The request may or may not have had an effect.',
    remedy: 'Tell the operator the `instance`: the log has the cause under it. Repeat a start only with its `Idempotency-Key`.',
  },
  unavailable: {
    meaning: 'A part that the request needs, such as the store, does not answer at the moment.',
    remedy: 'Wait as many seconds as `Retry-After` says and repeat the request; a start with its `Idempotency-Key`.',
  },
};

const CODES = Object.keys(ERRORS) as ErrorCode[];

export const isErrorCode = (text: string): text is ErrorCode => Object.hasOwn(ERRORS, text);

/** docs/errors.md */
export function errorsMarkdown(): string {
  const rows = CODES.map(
    (code) => `| [\`${code}\`](#${code}) | ${ERRORS[code].status} | ${ERRORS[code].retryable ? 'yes' : 'no'} | ${ERRORS[code].title} |`,
  );
  const sections = CODES.map((code) => `## ${code}\n\n${ERRORS[code].status}: ${TEXTS[code].meaning}\n\n${TEXTS[code].remedy}\n`);
  return [
    '# Errors',
    '',
    '<!-- Generated from the error table; a test fails when this file is stale. -->',
    '',
    'Every error answer is a problem document (RFC 9457, `application/problem+json`) with `type`, `title`, `status`, `detail`,',
    '`instance` and `code`. Tell errors apart by `code`, never by the text. `errors` is there for `invalid_request` and `invalid_cursor`:',
    'one entry for each wrong place, with `detail` and one of `pointer` (JSON pointer into the body), `parameter` (query) and `header`.',
    '`instance` carries the request id, which is also in the `X-Request-Id` header.',
    '',
    '| code | status | repeat later? | title |',
    '|---|---|---|---|',
    ...rows,
    '',
    sections.join('\n'),
  ].join('\n');
}

const inHtml = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/`([^`]*)`/g, '<code>$1</code>');

/** The page that a problem's `type` leads to. */
export function problemPage(code: ErrorCode): string {
  const { status, title, retryable } = ERRORS[code];
  const { meaning, remedy } = TEXTS[code];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${code} · crawlgate</title>
<h1><code>${code}</code></h1>
<p>${status} · ${inHtml(title)} · ${retryable ? 'may be repeated later' : 'is not to be repeated unchanged'}</p>
<p>${inHtml(meaning)}</p>
<p>${inHtml(remedy)}</p>
</html>
`;
}

/** One sentence for the API's description. */
export const meaningOf = (code: ErrorCode): string => TEXTS[code].meaning;
